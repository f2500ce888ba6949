/* What a fault of this machine means for deliveries: the attempt was not made. The callback is
 * given back with its place in the schedule, neither the lane nor the destination is judged, and
 * the lane tries again in a second. Only the operator is told: once in the log, by a metric, and by
 * /healthz.
 *
 * All lanes of a loop take their next times in turn, LOCAL_FAULT_APART_MS apart, so ten thousand
 * lanes that can make no attempt cost a loop no more than 500 of them do in a second. */
#include "delivery/dispatcher.h"

#include "base/log.h"

#define LOCAL_FAULT_RETRY_MS 1000
#define LOCAL_FAULT_APART_MS 2
/* After so long without the fault, the next one is logged again. */
#define LOCAL_FAULT_OVER_MS MINUTE_MS

static int64_t next_turn_mono_ms(struct dispatcher *d, int64_t now_mono_ms)
{
    int64_t at = now_mono_ms + LOCAL_FAULT_RETRY_MS;
    if (at < d->local_fault_next_mono_ms)
        at = d->local_fault_next_mono_ms;
    d->local_fault_next_mono_ms = at + LOCAL_FAULT_APART_MS;
    return at;
}

static void tell(struct dispatcher *d, enum local_fault fault, const char *detail,
                 const struct lane_now *now)
{
    struct local_fault_tally *tally = &d->delivery->local_faults[fault];
    int64_t before_mono_ms = atomic_exchange(&tally->last_mono_ms, now->mono_ms);
    atomic_fetch_add_explicit(&tally->count, 1, memory_order_relaxed);
    atomic_store_explicit(&tally->last_wall_ms, now->wall_ms, memory_order_relaxed);
    if (before_mono_ms != 0 && now->mono_ms - before_mono_ms < LOCAL_FAULT_OVER_MS)
        return;
    log_warning("local_fault", LOG_C("cause", local_fault_name(fault)),
                LOG_C("what", local_fault_text(fault)), LOG_C("detail", detail),
                LOG_C("fix", local_fault_fix(fault)),
                LOG_C("callbacks", "wait, and are tried again each second; no endpoint is "
                                   "suspended for this"));
}

/* A lane whose receiver is down cannot show that it is up again while it makes no attempts: the
 * time after which its callbacks are given up begins anew. So it does for all lanes of a dead host
 * whose probe was not made. */
static void restart_downtimes(struct delivery_attempt *t, int64_t now_mono_ms)
{
    lane_downtime_restart(&t->lane->downtime, now_mono_ms);
    if (!t->is_probe)
        return;
    for (struct link *link = t->destination->lanes.first; link; link = link->next)
        lane_downtime_restart(&CONTAINER_OF(link, struct lane, turn.at_destination)->downtime,
                              now_mono_ms);
}

void dispatcher_note_local_fault(struct dispatcher *d, struct delivery_attempt *t)
{
    struct lane_now now = dispatcher_now(d);
    struct lane *lane = t->lane;
    tell(d, t->x.local_fault, t->x.detail, &now);
    if (!lane) /* a test callback */
        return;
    restart_downtimes(t, now.mono_ms);
    int64_t until_mono_ms = backoff_waits(&lane->backoff, now.mono_ms)
                                ? lane->backoff.until_mono_ms
                                : next_turn_mono_ms(d, now.mono_ms);
    /* without this attempt, which is about to be given back */
    backoff_begin(&lane->backoff, lane->in_flight - 1, until_mono_ms, now.mono_ms);
    if (t->is_probe)
        destination_postpone_probe(t->destination, until_mono_ms);
}
