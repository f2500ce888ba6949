/* When a lane may start its next attempt: after a pause that the receiver asked for (Retry-After),
 * and no faster than the app's rate. Pure state; times are monotonic. */
#pragma once

#include <stdint.h>

struct lane_pace {
    int64_t paused_until_mono_ms;
    int64_t rate_next_micros; /* when the rate allows the next start */
};

void pace_pause(struct lane_pace *p, int64_t until_mono_ms); /* never shortens a pause */
/* per_second 0: no limit. */
void pace_count_start(struct lane_pace *p, int32_t per_second, int64_t now_mono_ms);
/* The earliest time of the next start: now, or later. */
int64_t pace_next_mono_ms(const struct lane_pace *p, int32_t per_second, int64_t now_mono_ms);
