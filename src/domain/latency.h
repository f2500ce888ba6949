/* Durations of attempts, as counts in fixed buckets: counts of several endpoints, nodes and hours
 * can be added, and a percentile is computed from the sum. */
#pragma once

#include "domain/attempt.h"

#include <stdint.h>

#define LATENCY_BUCKETS 17

/* A bucket counts durations up to its bound and above the bound before; the last bucket has the
 * rest, up to the longest time that an app can set. */
extern const int64_t latency_bounds_ms[LATENCY_BUCKETS];

size_t latency_bucket(int64_t ms);
/* True if the receiver answered or timed out: otherwise nothing is known about its speed. */
bool latency_is_measured(enum attempt_class c);
/* The time within which `percent` of the attempts ended, interpolated linearly in its bucket; -1:
 * there are none. */
int64_t latency_percentile_ms(const int64_t counts[LATENCY_BUCKETS], int percent);
