/* Counts requests per key and minute, as the RateLimit-* headers describe it
 * (draft-ietf-httpapi-ratelimit-headers). Used requests come back evenly: a rested key may use its
 * whole minute at once, then only as many as come back. When none is left, api/dispatch.c answers
 * 429. Any thread. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct rate_limit;

struct rate_limit *rate_limit_new(int32_t per_minute);
void rate_limit_set(struct rate_limit *limit, int32_t per_minute);
void rate_limit_free(struct rate_limit *limit);

struct rate_state {
    int32_t limit, remaining;
    /* Seconds until the whole minute is available again, and until one request is; both at least
     * 1. */
    int32_t reset_s, retry_s;
};

/* Counts one request of the key. False: none is left. */
bool rate_limit_take(struct rate_limit *limit, struct str key_id, int64_t now_mono_ms,
                     struct rate_state *ret);
