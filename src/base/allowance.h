/* How much may be used: the full amount after a rest, and then as it comes back, evenly. The state
 * is one time, at which the full amount is there again. The caller chooses clock and unit. Pure. */
#pragma once

#include <stdint.h>

struct allowance {
    int64_t each; /* until one more has come back */
    int64_t full; /* until all has come back, from nothing */
};

/* 0: one may be used; else how long until it may. */
static inline int64_t allowance_wait(struct allowance of, int64_t full_at, int64_t now)
{
    int64_t after = (full_at > now ? full_at : now) + of.each - now;
    return after > of.full ? after - of.full : 0;
}

/* One is used: when all has come back now. */
static inline int64_t allowance_use(struct allowance of, int64_t full_at, int64_t now)
{
    return (full_at > now ? full_at : now) + of.each;
}
