/* Histograms: each duration in its own bucket, bounds included, and all of them in the sum. */
#include "check.h"

#include "base/timing.h"

static struct timing timing;

static void each_falls_into_its_bucket(void)
{
    struct timing_numbers n;
    int64_t total_us = 0;
    for (int i = 0; i < TIMING_BUCKETS - 1; i++) {
        timing_add(&timing, timing_bounds_us[i]);
        timing_add(&timing, timing_bounds_us[i] + 1);
        total_us += 2 * timing_bounds_us[i] + 1;
    }
    timing_get(&timing, &n);
    CHECK_EQ_INT(n.counts[0], 1);
    for (int i = 1; i < TIMING_BUCKETS - 1; i++)
        CHECK_EQ_INT(n.counts[i], 2);
    CHECK_EQ_INT(n.counts[TIMING_BUCKETS - 1], 1);
    CHECK_EQ_INT(n.total_us, total_us);
}

static void bounds_rise(void)
{
    for (int i = 1; i < TIMING_BUCKETS - 1; i++)
        CHECK(timing_bounds_us[i] > timing_bounds_us[i - 1]);
}

static void since_is_what_has_passed(void)
{
    static struct timing fresh;
    struct timing_numbers n;
    timing_add_since(&fresh, timing_now_us() - 1000);
    timing_get(&fresh, &n);
    CHECK(n.total_us >= 1000);
}

int main(void)
{
    RUN(each_falls_into_its_bucket);
    RUN(bounds_rise);
    RUN(since_is_what_has_passed);
    return check_done("timing");
}
