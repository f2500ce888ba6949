/* Counters without a common order: a reader may see one counter updated and another not yet. */
#include "base/timing.h"

#include "base/check.h"

#include <stddef.h>
#include <time.h>

const int64_t timing_bounds_us[TIMING_BUCKETS - 1] = {
    50,    100,   250,    500,    1000,   2500,    5000,    7500,    10000,
    25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 10000000};

int64_t timing_now_us(void)
{
    struct timespec t;
    ASSERT(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void timing_add(struct timing *timing, int64_t us)
{
    size_t bucket = 0;
    while (bucket < TIMING_BUCKETS - 1 && us > timing_bounds_us[bucket])
        bucket++;
    atomic_fetch_add_explicit(&timing->counts[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&timing->total_us, us, memory_order_relaxed);
}

void timing_get(const struct timing *timing, struct timing_numbers *ret)
{
    for (size_t i = 0; i < TIMING_BUCKETS; i++)
        ret->counts[i] = atomic_load_explicit(&timing->counts[i], memory_order_relaxed);
    ret->total_us = atomic_load_explicit(&timing->total_us, memory_order_relaxed);
}
