/* How long attempts took, as counts in fixed buckets: counts of several endpoints, nodes and hours
 * can be added, and a percentile is taken once, of the sum. */
#pragma once

#include "domain/attempt.h"

#include <stdint.h>

#define LATENCY_BUCKETS 17

/* Each bucket has what took at most so long, and longer than the bucket before; the last one has
 * the rest, up to the longest time that an app can ask for. */
extern const int64_t latency_bounds_ms[LATENCY_BUCKETS];

size_t latency_bucket(int64_t ms);
/* Whether the receiver answered, or was waited for in vain: else nothing is known of its speed. */
bool latency_is_measured(enum attempt_class c);
/* The time within which `percent` of the attempts ended, taken as evenly spread in its bucket;
 * -1: there are none. */
int64_t latency_percentile_ms(const int64_t counts[LATENCY_BUCKETS], int percent);
