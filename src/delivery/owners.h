/* Which loop a lane belongs to: read by the store's thread to route what it hands over, claimed
 * and given on by the loops. Any thread. A lane has at most one owner at any moment; only the
 * owner may give it on. */
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
