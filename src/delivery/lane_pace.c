/* Each start moves the time of the next allowed start forward by 1 / rate. If attempts start late,
 * that time may be up to RATE_BURST_MICROS in the past. The next attempts then follow at once, so
 * that the late starts are made up for. */
#include "delivery/lane_pace.h"

#define RATE_BURST_MICROS 20000

void pace_pause(struct lane_pace *p, int64_t until_mono_ms)
{
    if (p->paused_until_mono_ms < until_mono_ms)
        p->paused_until_mono_ms = until_mono_ms;
}

void pace_count_start(struct lane_pace *p, int32_t per_second, int64_t now_mono_ms)
{
    if (per_second <= 0)
        return;
    int64_t apart = 1000000 / per_second;
    int64_t burst = apart < RATE_BURST_MICROS ? RATE_BURST_MICROS : 0;
    int64_t earliest = now_mono_ms * 1000 - burst;
    if (p->rate_next_micros < earliest)
        p->rate_next_micros = earliest;
    p->rate_next_micros += apart;
}

int64_t pace_next_mono_ms(const struct lane_pace *p, int32_t per_second, int64_t now_mono_ms)
{
    int64_t at = now_mono_ms > p->paused_until_mono_ms ? now_mono_ms : p->paused_until_mono_ms;
    int64_t by_rate = (p->rate_next_micros + 999) / 1000;
    return per_second > 0 && by_rate > at ? by_rate : at;
}
