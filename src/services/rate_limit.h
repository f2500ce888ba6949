/* Counts requests per minute and key, as the RateLimit-* headers describe it
 * (draft-ietf-httpapi-ratelimit-headers). What a key has used comes back evenly: one that has
 * rested may use its whole minute at once, and then as it refills. api/dispatch.c answers 429 when
 * a key has none left. Any thread. */
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
    /* Until the key has its whole minute again, and until it may ask once more; both at least 1. */
    int32_t reset_s, retry_s;
};

/* Counts one request of the key. False: none is left. */
bool rate_limit_take(struct rate_limit *limit, struct str key_id, int64_t now_mono_ms,
                     struct rate_state *ret);
