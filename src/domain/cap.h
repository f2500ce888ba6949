/* The cap on an app's payments to a panelist for disqualifications. An event is paid only if no 24
 * hours by Timestamp around it would contain more payments than the cap, in whatever order the
 * events arrive (contract, section 2). Asked by domain/acceptance.c (pay_disqualification); the
 * stores look up the payments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Timestamps of earlier payments of the same app to the same panelist, ascending. Only those less
 * than 24 h before or after the event matter. */
struct payments {
    const int64_t *at_ms;
    size_t count;
};

/* Any payments of this number are enough to decide: either the 24 h up to the event or those from
 * it on then have at least as many as the cap. */
static inline size_t cap_payments_most(uint32_t cap)
{
    return (size_t)cap * 2;
}

bool cap_allows(uint32_t cap, int64_t at_ms, const struct payments *paid);

/* Sorts the times as struct payments requires. */
void cap_sort(int64_t *at_ms, size_t count);
