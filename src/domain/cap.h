/* The cap of an app on what it pays a panelist for disqualifications. An event is paid only if
 * with it no 24 hours by Timestamp, before or after it, hold more payments than the cap, in
 * whatever order the events arrive (contract, section 2). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Timestamps of earlier payments of the same app to the same panelist, ascending. Only those less
 * than 24 h from the event, before or after it, matter. */
struct payments {
    const int64_t *at_ms;
    size_t count;
};

/* So many of them, whichever, are enough to decide: either the 24 h up to the event or those from
 * it on then hold as many as the cap. */
static inline size_t cap_payments_most(uint32_t cap)
{
    return (size_t)cap * 2;
}

bool cap_allows(uint32_t cap, int64_t at_ms, const struct payments *paid);

/* Puts times into the order that struct payments wants. */
void cap_sort(int64_t *at_ms, size_t count);
