/* A histogram of durations in microseconds. Any thread adds and reads.
 *
 * It is only for people who look for delays; no decision depends on it. So it always uses the
 * machine's own clock. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define TIMING_BUCKETS 18

/* A bucket counts durations up to its bound and above the bound before; the last bucket has the
 * rest. */
extern const int64_t timing_bounds_us[TIMING_BUCKETS - 1];

struct timing {
    atomic_llong counts[TIMING_BUCKETS], total_us;
};

struct timing_numbers { /* since the start; counts may be read at slightly different moments */
    int64_t counts[TIMING_BUCKETS], total_us;
};

int64_t timing_now_us(void); /* monotonic */
void timing_add(struct timing *timing, int64_t us);
static inline void timing_add_since(struct timing *timing, int64_t begin_us)
{
    timing_add(timing, timing_now_us() - begin_us);
}
void timing_get(const struct timing *timing, struct timing_numbers *ret);
