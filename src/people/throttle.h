/* Limits failed tries: one bucket of tries per name (`who`). Each failure takes a try; tries come
 * back one by one. Any thread. How many tries are allowed: api/tries.c. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct throttle_rule {
    int32_t tries;     /* of a full bucket */
    int64_t refill_ms; /* until one try comes back */
};

struct throttle;
struct throttle *throttle_new(struct throttle_rule rule);
void throttle_free(struct throttle *t);

/* 0: a try is left; otherwise the time until there is one. Takes none. now_ms: monotonic. */
int64_t throttle_wait_ms(struct throttle *t, struct str who, int64_t now_ms);
/* True: this failure took the last try, and that was not reported within the last hour. */
bool throttle_fail(struct throttle *t, struct str who, int64_t now_ms);
/* Fills the bucket again: the person has proved their identity. */
void throttle_forgive(struct throttle *t, struct str who);
