/* The spacing of a lane's attempts while this machine cannot make them. See lane_hold.h. */
#include "delivery/lane_hold.h"

bool hold_waits(const struct lane_hold *h, int64_t now_mono_ms)
{
    return h->is_on && h->until_mono_ms > now_mono_ms;
}

void hold_begin(struct lane_hold *h, int32_t in_flight, int64_t until_mono_ms, int64_t now_mono_ms)
{
    if (!hold_waits(h, now_mono_ms))
        h->until_mono_ms = until_mono_ms;
    h->is_on = true;
    h->most = in_flight > 1 ? in_flight : 1;
}

void hold_end(struct lane_hold *h, int64_t began_mono_ms)
{
    if (began_mono_ms >= h->until_mono_ms)
        h->is_on = false;
}

int64_t hold_next_mono_ms(const struct lane_hold *h, int32_t in_flight)
{
    return h->is_on && in_flight == 0 ? h->until_mono_ms : 0;
}

int32_t hold_allowance(const struct lane_hold *h, int32_t allowance)
{
    return h->is_on && h->most < allowance ? h->most : allowance;
}
