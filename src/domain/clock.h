/* Times as text and days. All UTC; the proleptic Gregorian calendar; times in milliseconds count no
 * leap seconds. */
#pragma once

#include "base/buf.h"
#include "base/env.h"

#include <stdbool.h>
#include <stdint.h>

/* RFC 3339; the offset is required; truncated (not rounded) to milliseconds. A leap second (":60",
 * only at the end of a UTC day, section 5.7) is the last millisecond of its day. */
MUST_CHECK bool clock_parse_rfc3339(struct str text, int64_t *ret_ms);
void clock_print(struct buf *to, int64_t ms); /* YYYY-MM-DDThh:mm:ss.sssZ */

/* Days are counted from 1970-01-01. The first and the last day with a four-digit year: parsed days
 * are between them, and printed days must be. */
#define CLOCK_FIRST_DAY (-719528)                                   /* 0000-01-01 */
#define CLOCK_LAST_DAY 2932896                                      /* 9999-12-31 */
int32_t clock_day(int64_t ms);                                      /* floor */
int32_t clock_month(int32_t day);                                   /* its first day */
MUST_CHECK bool clock_parse_day(struct str text, int32_t *ret_day); /* YYYY-MM-DD, exact */
void clock_print_day(struct buf *to, int32_t day);
/* HTTP dates of RFC 9110, section 5.6.7 (all three forms). */
MUST_CHECK bool clock_parse_http_date(struct str text, int64_t *ret_ms);
void clock_print_http_date(struct buf *to, int64_t ms);
