/* Durations of attempts, as counts between fixed bounds: counts of several endpoints, nodes and
 * hours can be added, and a percentile is computed from the sum.
 *
 * There are two scales. The few buckets are stored, for statistics, and shown in /metrics. The
 * finer classes are kept in memory for each endpoint's last hour. Every bound of a bucket is also
 * one of a class, so a bucket is a sum of classes. */
#pragma once

#include "domain/attempt.h"

#include <stdint.h>

/* Upper bounds in milliseconds. BUCKET is a bound of both scales, CLASS one of the finer scale
 * only. A class ends at most 19 % above its beginning. Just above 3, 5, 10 and 20 seconds there is
 * a narrow one, because a time-out is noticed a few milliseconds late. Bounds of buckets are parts
 * of column names: changing them changes the schema. */
/* clang-format off */
#define LATENCY_BOUNDS(BUCKET, CLASS)                                                              \
    CLASS(1) CLASS(2) CLASS(3) CLASS(4) CLASS(5) CLASS(6) CLASS(7) CLASS(8) CLASS(9) BUCKET(10)    \
    CLASS(12) CLASS(14) CLASS(16) CLASS(18) BUCKET(20)                                             \
    CLASS(23) CLASS(27) CLASS(32) CLASS(38) CLASS(44) BUCKET(50)                                   \
    CLASS(58) CLASS(67) CLASS(77) CLASS(88) BUCKET(100)                                            \
    CLASS(115) CLASS(130) BUCKET(150)                                                              \
    CLASS(175) BUCKET(200)                                                                         \
    CLASS(230) CLASS(265) BUCKET(300)                                                              \
    CLASS(345) CLASS(390) CLASS(440) BUCKET(500)                                                   \
    CLASS(575) CLASS(660) BUCKET(750)                                                              \
    CLASS(870) BUCKET(1000)                                                                        \
    CLASS(1150) CLASS(1300) BUCKET(1500)                                                           \
    CLASS(1750) BUCKET(2000)                                                                       \
    CLASS(2300) CLASS(2650) BUCKET(3000)                                                           \
    CLASS(3030) CLASS(3500) CLASS(4000) CLASS(4500) BUCKET(5000)                                   \
    CLASS(5050) CLASS(5800) CLASS(6700) CLASS(7700) CLASS(8800) BUCKET(10000)                      \
    CLASS(10100) CLASS(11700) CLASS(13500) CLASS(15500) CLASS(17700) BUCKET(20000)                 \
    CLASS(20200) CLASS(23500) CLASS(27000) CLASS(29900) BUCKET(30000)
/* clang-format on */
#define LATENCY_NONE(ms)

#define LATENCY_ADD_ONE(ms) +1 // NOLINT(bugprone-macro-parentheses): one more of a sum
#define LATENCY_BUCKETS (0 LATENCY_BOUNDS(LATENCY_ADD_ONE, LATENCY_NONE))
#define LATENCY_CLASSES (0 LATENCY_BOUNDS(LATENCY_ADD_ONE, LATENCY_ADD_ONE))

/* True if the receiver answered or timed out: otherwise nothing is known about its speed. */
bool latency_is_measured(enum attempt_class c);

struct latency_scale {
    /* Entry i counts durations up to this bound and above the bound before. The last has the rest,
     * up to the longest time that an app can set, as noticed a little late. */
    const int64_t *bounds_ms;
    size_t count;
    bool interpolates;
};
extern const struct latency_scale latency_buckets; /* LATENCY_BUCKETS of them */
extern const struct latency_scale latency_classes; /* LATENCY_CLASSES of them */

size_t latency_index(const struct latency_scale *scale, int64_t ms);
/* The time within which `percent` of the attempts ended; -1: there are none. Of buckets it is
 * interpolated linearly between two bounds, so it may lie on either side of the truth. Of classes
 * it is the upper bound: never less than the truth (but in the last), and at most 19 % more. */
int64_t latency_percentile_ms(const struct latency_scale *scale, const int64_t *counts,
                              int percent);
