/* Latency buckets, and percentiles of them. The bounds are stored as names of columns: changing
 * them changes the schema. */
#include "domain/latency.h"

const int64_t latency_bounds_ms[LATENCY_BUCKETS] = {
    10, 20, 50, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 10000, 20000, 30000};

size_t latency_bucket(int64_t ms)
{
    size_t i = 0;
    while (i < LATENCY_BUCKETS - 1 && ms > latency_bounds_ms[i])
        i++;
    return i;
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

int64_t latency_percentile_ms(const int64_t counts[LATENCY_BUCKETS], int percent)
{
    ASSERT(percent > 0 && percent <= 100);
    int64_t total = 0;
    for (size_t i = 0; i < LATENCY_BUCKETS; i++)
        total += counts[i];
    if (total == 0)
        return -1;
    int64_t rank = (total * percent + 99) / 100, before = 0;
    size_t at = 0;
    while (before + counts[at] < rank)
        before += counts[at++];
    int64_t low_ms = at > 0 ? latency_bounds_ms[at - 1] : 0;
    int64_t wide_ms = latency_bounds_ms[at] - low_ms;
    return low_ms + (wide_ms * (rank - before) + counts[at] - 1) / counts[at];
}
