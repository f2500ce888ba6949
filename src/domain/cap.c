/* The cap on payments for disqualifications; see cap.h.
 *
 * Finds the fullest window of 24 h that contains the event: it begins at a payment or at the event,
 * so one pass with two indices finds it. A window is [w, w + 24 h), so payments exactly 24 h apart
 * never share one. */
#include "domain/cap.h"

#include "base/check.h"
#include "domain/clock.h"

#include <stdlib.h>

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void cap_sort(int64_t *at_ms, size_t count)
{
    if (count > 1)
        qsort(at_ms, count, sizeof *at_ms, by_time);
}

bool cap_allows(uint32_t cap, int64_t at_ms, const struct payments *paid)
{
    size_t end = 0, most = 0;
    for (size_t begin = 0; begin <= paid->count; begin++) {
        ASSERT(begin + 1 >= paid->count || paid->at_ms[begin] <= paid->at_ms[begin + 1]);
        bool is_before = begin < paid->count && paid->at_ms[begin] < at_ms;
        int64_t from_ms = is_before ? paid->at_ms[begin] : at_ms;
        if (is_before && from_ms <= at_ms - DAY_MS)
            continue; /* a window that begins here does not reach the event */
        while (end < paid->count && paid->at_ms[end] < from_ms + DAY_MS)
            end++;
        if (end - begin > most)
            most = end - begin;
        if (!is_before)
            break;
    }
    return most < cap;
}
