/* Which loop owns a lane. The store's thread reads the table to route callbacks; loops claim lanes
 * and give them up. Any thread. A lane has at most one owner at a time, and only the owner may give
 * it up. */
#pragma once

#include "domain/event.h"

#define LANE_AFFINITY_LOOPS_MAX 254
#define LOOP_NONE (-1)

struct lane_affinity;

struct lane_affinity *lane_affinity_new(void);
void lane_affinity_free(struct lane_affinity *affinity);
/* The index of the loop that owns the lane, or LOOP_NONE. */
int lane_affinity_get(struct lane_affinity *affinity, lane_no lane);
/* Makes `loop` the owner of a lane that has none; returns the owner. */
int lane_affinity_claim(struct lane_affinity *affinity, lane_no lane, int loop);
/* Makes `loop` the owner of a lane instead of the caller's loop. */
void lane_affinity_move(struct lane_affinity *affinity, lane_no lane, int loop);
