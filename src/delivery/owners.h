/* Which loop owns a lane. The store's thread reads the table to route callbacks; loops claim lanes
 * and give them up. Any thread. A lane has at most one owner at a time, and only the owner may give
 * it up. */
#pragma once

#include "domain/event.h"

#define OWNERS_LOOPS_MAX 254
#define OWNER_NONE (-1)

struct owners;

struct owners *owners_new(void);
void owners_free(struct owners *owners);
int owners_get(struct owners *owners, lane_no lane); /* a loop's index, or OWNER_NONE */
/* Makes `loop` the owner of a lane that has none; returns who owns it then. */
int owners_claim(struct owners *owners, lane_no lane, int loop);
void owners_give(struct owners *owners, lane_no lane, int loop);
