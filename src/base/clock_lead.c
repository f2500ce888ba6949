/* See clock_lead.h. */
#include "base/clock_lead.h"

#include "base/check.h"

#define PART_MOST_MS (INT64_MAX / 4 / (CLOCK_LEAD_PARTS + 1))

static struct clock_lead lead_at(const struct clock_lead *l, int64_t now_mono_ms)
{
    ASSERT(l->part_ms > 0);
    struct clock_lead now = *l;
    int64_t passed = now_mono_ms / l->part_ms - l->part;
    if (passed <= 0) /* a caller's time may be older than the latest jump */
        return now;
    now.part += passed;
    for (int64_t i = 0; i <= CLOCK_LEAD_PARTS; i++)
        now.jumps_ms[i] = i < passed ? 0 : l->jumps_ms[i - passed];
    return now;
}

void clock_lead_add(struct clock_lead *l, int64_t jump_ms, int64_t now_mono_ms)
{
    ASSERT(jump_ms >= 0);
    *l = lead_at(l, now_mono_ms);
    int64_t room_ms = PART_MOST_MS - l->jumps_ms[0];
    l->jumps_ms[0] += jump_ms < room_ms ? jump_ms : room_ms;
}

int64_t clock_lead_ms(const struct clock_lead *l, int64_t now_mono_ms)
{
    struct clock_lead now = lead_at(l, now_mono_ms);
    int64_t sum_ms = 0;
    for (int i = 0; i <= CLOCK_LEAD_PARTS; i++)
        sum_ms += now.jumps_ms[i];
    return sum_ms;
}

void clock_lead_set_window(struct clock_lead *l, int64_t window_ms, int64_t now_mono_ms)
{
    int64_t before_ms = l->part_ms > 0 ? clock_lead_ms(l, now_mono_ms) : 0;
    l->part_ms = window_ms / CLOCK_LEAD_PARTS + 1;
    l->part = now_mono_ms / l->part_ms;
    for (int i = 0; i <= CLOCK_LEAD_PARTS; i++)
        l->jumps_ms[i] = 0;
    clock_lead_add(l, before_ms, now_mono_ms);
}

int64_t clock_lead_look(struct clock_lead *l, int64_t wall_ms, int64_t now_mono_ms)
{
    int64_t less_mono_ms = wall_ms - now_mono_ms, jump_ms = less_mono_ms - l->wall_less_mono_ms;
    if (l->has_looked && jump_ms > CLOCK_LEAD_LEAST_MS)
        clock_lead_add(l, jump_ms, now_mono_ms);
    l->has_looked = true;
    l->wall_less_mono_ms = less_mono_ms;
    return wall_ms - clock_lead_ms(l, now_mono_ms);
}
