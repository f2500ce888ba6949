/* Scales of durations, and percentiles of counts on them. */
#include "domain/latency.h"

#define BOUND(ms) ms,
static const int64_t bucket_bounds_ms[] = {LATENCY_BOUNDS(BOUND, LATENCY_NONE)};
static const int64_t class_bounds_ms[] = {LATENCY_BOUNDS(BOUND, BOUND)};

const struct latency_scale latency_buckets = {bucket_bounds_ms, LATENCY_BUCKETS, true};
const struct latency_scale latency_classes = {class_bounds_ms, LATENCY_CLASSES, false};

size_t latency_index(const struct latency_scale *scale, int64_t ms)
{
    size_t low = 0, high = scale->count - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ms > scale->bounds_ms[middle])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool latency_is_measured(enum attempt_class c)
{
    switch (c) {
    case ATTEMPT_OK:
    case ATTEMPT_TIMEOUT:
    case ATTEMPT_REDIRECT:
    case ATTEMPT_STATUS:
    case ATTEMPT_GONE:
    case ATTEMPT_UNEXPECTED_ANSWER: return true;
    case ATTEMPT_DNS:
    case ATTEMPT_DESTINATION_REFUSED:
    case ATTEMPT_REFUSED:
    case ATTEMPT_CONNECT_TIMEOUT:
    case ATTEMPT_TLS:
    case ATTEMPT_RESET:
    case ATTEMPT_PROTOCOL: return false;
    }
    UNREACHABLE();
}

int64_t latency_percentile_ms(const struct latency_scale *scale, const int64_t *counts, int percent)
{
    ASSERT(percent > 0 && percent <= 100);
    int64_t total = 0;
    for (size_t i = 0; i < scale->count; i++)
        total += counts[i];
    if (total == 0)
        return -1;
    int64_t rank = (total * percent + 99) / 100, before = 0;
    size_t at = 0;
    while (before + counts[at] < rank)
        before += counts[at++];
    if (!scale->interpolates)
        return scale->bounds_ms[at];
    int64_t low_ms = at > 0 ? scale->bounds_ms[at - 1] : 0;
    int64_t wide_ms = scale->bounds_ms[at] - low_ms;
    return low_ms + (wide_ms * (rank - before) + counts[at] - 1) / counts[at];
}
