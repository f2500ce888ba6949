/* The spacing of a lane's attempts while this machine cannot make them. See lane_backoff.h. */
#include "delivery/lane_backoff.h"

bool backoff_waits(const struct lane_backoff *b, int64_t now_mono_ms)
{
    return b->is_on && b->until_mono_ms > now_mono_ms;
}

void backoff_begin(struct lane_backoff *b, int32_t in_flight, int64_t until_mono_ms,
                   int64_t now_mono_ms)
{
    if (!backoff_waits(b, now_mono_ms))
        b->until_mono_ms = until_mono_ms;
    b->is_on = true;
    b->most = in_flight > 1 ? in_flight : 1;
}

void backoff_end(struct lane_backoff *b, int64_t began_mono_ms)
{
    if (began_mono_ms >= b->until_mono_ms)
        b->is_on = false;
}

int64_t backoff_next_mono_ms(const struct lane_backoff *b, int32_t in_flight)
{
    return b->is_on && in_flight == 0 ? b->until_mono_ms : 0;
}

int32_t backoff_allowance(const struct lane_backoff *b, int32_t allowance)
{
    return b->is_on && b->most < allowance ? b->most : allowance;
}
