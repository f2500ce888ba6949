/* How often somebody may be wrong: buckets of tries, by whatever names who tries. Each
 * failure takes a try; they come back one by one. Any thread. How many tries of what are allowed:
 * api/tries.c. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct throttle_rule {
    int32_t tries;     /* of a full bucket */
    int64_t refill_ms; /* until one more is there */
};

struct throttle;
struct throttle *throttle_new(struct throttle_rule rule);
void throttle_free(struct throttle *t);

/* 0: a try is left; else how long until there is one. Takes nothing. now_ms: monotonic. */
int64_t throttle_wait_ms(struct throttle *t, struct str who, int64_t now_ms);
/* True: this failure took the last try, which has not been said of them for an hour. */
bool throttle_fail(struct throttle *t, struct str who, int64_t now_ms);
/* Who has proved who he is starts again with a full bucket. */
void throttle_forgive(struct throttle *t, struct str who);
