/* The two ways in which a callback becomes dead: by the result of its own attempt, or because its
 * lane was down for very long. */
#include "domain/callback_end.h"

void final_statuses_add(struct final_statuses *s, int32_t status)
{
    ASSERT(status >= FINAL_STATUS_LEAST && status <= FINAL_STATUS_MOST);
    int32_t at = status - FINAL_STATUS_LEAST;
    s->bits[at / 64] |= UINT64_C(1) << at % 64;
}

bool final_statuses_have(const struct final_statuses *s, int32_t status)
{
    if (status < FINAL_STATUS_LEAST || status > FINAL_STATUS_MOST)
        return false;
    int32_t at = status - FINAL_STATUS_LEAST;
    return s->bits[at / 64] >> at % 64 & 1;
}

struct callback_end callback_end_of_attempt(const struct schedule *s, struct schedule_place *place,
                                            const struct failed_attempt *attempt, struct rng *rng)
{
    ASSERT(attempt->class != ATTEMPT_OK);
    if (attempt->class == ATTEMPT_GONE)
        return (struct callback_end){CALLBACK_DEAD, REASON_GONE};
    if (attempt->is_final_status)
        return (struct callback_end){CALLBACK_DEAD, REASON_FINAL_STATUS};
    if (schedule_fail(s, place, attempt->ended_ms, attempt->not_before_ms, rng) == SCHEDULE_DEAD)
        return (struct callback_end){CALLBACK_DEAD, REASON_ATTEMPTS};
    return (struct callback_end){CALLBACK_PENDING, REASON_NONE};
}

void lane_downtime_begin(struct lane_downtime *d, int64_t now_mono_ms)
{
    if (d->is_down)
        return;
    d->is_down = true;
    d->since_mono_ms = now_mono_ms;
}

void lane_downtime_restart(struct lane_downtime *d, int64_t now_mono_ms)
{
    if (d->is_down)
        d->since_mono_ms = now_mono_ms;
}

void lane_downtime_end(struct lane_downtime *d, int64_t now_ms)
{
    if (!d->is_down)
        return;
    d->is_down = false;
    d->reopened_ms = now_ms;
}

void callback_set_lead_window(struct clock_lead *l, const struct schedule *s, int64_t now_mono_ms)
{
    int64_t window_ms = callback_give_up_ms(s);
    for (int32_t slot = 1; slot <= s->steps; slot++)
        window_ms += schedule_wait_most_ms(s, &(struct schedule_place){.slot = slot});
    clock_lead_set_window(l, window_ms, now_mono_ms);
}

int64_t callback_give_up_ms(const struct schedule *s)
{
    int64_t sum_ms = 0;
    for (int32_t i = 0; i < s->steps && sum_ms < CALLBACK_GIVE_UP_MOST_MS; i++)
        sum_ms += s->step_ms[i];
    return sum_ms < CALLBACK_GIVE_UP_MOST_MS ? sum_ms : CALLBACK_GIVE_UP_MOST_MS;
}

bool callback_is_given_up(const struct schedule *s, const struct schedule_place *stored,
                          const struct lane_downtime *d, int64_t now_ms, int64_t now_mono_ms)
{
    int64_t give_up_ms = callback_give_up_ms(s);
    if (!d->is_down || now_mono_ms - d->since_mono_ms < give_up_ms)
        return false;
    if (stored->due_ms <= d->reopened_ms)
        return false;
    return schedule_ended_ms(s, stored, now_ms) <= now_ms - give_up_ms;
}

bool callback_is_missed(const struct schedule *s, const struct schedule_place *stored,
                        int64_t enabled_ms)
{
    /* a callback that is due later was attempted or accepted since */
    return stored->due_ms <= enabled_ms && schedule_ended_ms(s, stored, enabled_ms) != INT64_MAX;
}
