/* A token bucket as one number: the time at which the bucket is full again. Tokens come back
 * evenly. The caller chooses clock and unit. Pure. */
#pragma once

#include <stdint.h>

struct allowance {
    int64_t each; /* time for one token to come back */
    int64_t full; /* time for an empty bucket to become full */
};

/* 0: a token is left; otherwise the time until there is one. */
static inline int64_t allowance_wait(struct allowance of, int64_t full_at, int64_t now)
{
    int64_t after = (full_at > now ? full_at : now) + of.each - now;
    return after > of.full ? after - of.full : 0;
}

/* Takes a token. Returns the time at which the bucket is full again. */
static inline int64_t allowance_use(struct allowance of, int64_t full_at, int64_t now)
{
    return (full_at > now ? full_at : now) + of.each;
}
