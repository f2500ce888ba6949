/* How long something takes: a histogram of microseconds, added to on any thread, read on any.
 *
 * It is for people who look for what holds something up; nothing is decided by it. So it goes by
 * the machine's own clock, whatever clock its caller is given. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define TIMING_BUCKETS 18

/* Each bucket holds what took at most so long, and longer than the one before; the last one takes
 * all the rest. */
extern const int64_t timing_bounds_us[TIMING_BUCKETS - 1];

struct timing {
    atomic_llong counts[TIMING_BUCKETS], total_us;
};

struct timing_numbers { /* since the start; not of one moment */
    int64_t counts[TIMING_BUCKETS], total_us;
};

int64_t timing_now_us(void); /* monotonic */
void timing_add(struct timing *timing, int64_t us);
static inline void timing_add_since(struct timing *timing, int64_t begin_us)
{
    timing_add(timing, timing_now_us() - begin_us);
}
void timing_get(const struct timing *timing, struct timing_numbers *ret);
