/* Decides what a lane does next: a pure function of (lane, now, what the dispatcher can give).
 *
 * It returns one action. The dispatcher does it and asks again, until the action is to wait. Pages
 * come before starts, because a page takes a while and exchanges may run meanwhile.
 * domain/callback_end.h decides when a failed callback is retried. */
#include "delivery/lane.h"

#include "base/arithmetic.h"
#include "base/limits.h"

#define PAGE_LEAST 16
#define PROBE_PAGE 4 /* the oldest due callbacks may be in the lane already, so read a few more */

static struct lane_decision act(enum lane_action action)
{
    return (struct lane_decision){.action = action, .wake_mono_ms = INT64_MAX};
}

static void wake_by(struct lane_decision *d, int64_t mono_ms)
{
    if (mono_ms < d->wake_mono_ms)
        d->wake_mono_ms = mono_ms;
}

/* The monotonic time of a stored wall clock time. */
static int64_t mono_of(int64_t wall_ms, const struct lane_now *now)
{
    return wall_ms <= now->wall_ms ? now->mono_ms : now->mono_ms + (wall_ms - now->wall_ms);
}

/* When the pause of a Retry-After, the rate and a fault of this machine allow the next attempt. */
static int64_t start_mono_ms(const struct lane *lane, const struct lane_now *now)
{
    return int64_max(pace_next_mono_ms(&lane->pace, lane->settings.rate_per_second, now->mono_ms),
                     backoff_next_mono_ms(&lane->backoff, lane->in_flight));
}

static struct lane_decision page(enum lane_page_kind kind, uint32_t limit, int64_t until_ms)
{
    struct lane_decision d = act(LANE_PAGE);
    d.page_kind = kind;
    d.page_limit = limit < LIMIT_PAGE_CALLBACKS ? limit : LIMIT_PAGE_CALLBACKS;
    d.page_until_ms = until_ms;
    return d;
}

/* True if a page of due callbacks should be asked for; else *d says what the lane waits for. */
static bool fill(const struct lane *lane, const struct lane_now *now,
                 const struct lane_means *means, int64_t at_mono_ms, struct lane_decision *d)
{
    if (lane->scans.is_asked)
        return false;
    at_mono_ms = int64_max(at_mono_ms, lane->scans.not_before_mono_ms);
    if (at_mono_ms > now->mono_ms) {
        wake_by(d, at_mono_ms);
        return false;
    }
    /* Counts paged callbacks only: a steady flow of new ones must not keep out those that wait in
     * the store. */
    int32_t wanted = lane_ram_goal(lane) - lane->due.count;
    int32_t room = LIMIT_LANE_CALLBACKS_IN_RAM - lane->in_ram;
    if (lane->due.count > lane_ram_goal(lane) / 4 || room < PAGE_LEAST)
        return false; /* decided again when one of them ends */
    if (!means->page_seat || means->room < PAGE_LEAST) {
        d->needs |= LANE_NEEDS_ROOM;
        return false;
    }
    if (room > means->room)
        room = means->room;
    int32_t limit = wanted < room ? wanted : room;
    *d = page(PAGE_FILL, (uint32_t)limit, now->wall_ms);
    return true;
}

static struct lane_decision decide_open(const struct lane *lane, const struct lane_now *now,
                                        const struct lane_means *means)
{
    struct lane_decision d = act(LANE_WAIT);
    if (lane->scans.next_due_ms != INT64_MAX &&
        fill(lane, now, means,
             int64_max(
                 int64_max(mono_of(lane->scans.next_due_ms, now), lane->pace.paused_until_mono_ms),
                 backoff_next_mono_ms(&lane->backoff, lane->in_flight)),
             &d))
        return d;
    wake_by(&d, retries_earliest(&lane->retries));
    if (lane_queued(lane) == 0)
        return d;
    int64_t start_at = start_mono_ms(lane, now);
    int32_t allowance =
        window_allowance(&lane->window, lane->settings.max_concurrency, now->mono_ms);
    if (start_at > now->mono_ms)
        wake_by(&d, start_at);
    else if (lane->in_flight >= backoff_allowance(&lane->backoff, allowance))
        ; /* decided again when one of them ends */
    else if (!destination_has_seat(lane->destination))
        d.needs |= LANE_NEEDS_DESTINATION;
    else if (!means->seat)
        d.needs |= LANE_NEEDS_SEAT;
    else
        return act(LANE_START);
    return d;
}

static bool destination_allows(const struct lane *lane, const struct lane_now *now)
{
    const struct destination *to = lane->destination;
    if (!to->dead)
        return destination_has_seat(to);
    /* Only a resend goes before the time. If it has left memory, the lane may still hold the probe
     * that it was given for the resend. */
    return destination_grants_probe(to, lane, now->mono_ms) &&
           (lane->probe.is_resend || now->mono_ms >= to->probe_mono_ms);
}

/* Decides about the callback that is ready for a shut lane's attempt: it starts, waits, or is no
 * longer wanted. It waits for a seat; a resend also waits for the attempt under way and for its
 * distance from the resend before. */
static struct lane_decision decide_probe(const struct lane *lane, const struct lane_now *now,
                                         const struct lane_means *means, int64_t probe_at)
{
    int64_t patience_ms = lane->probe.is_resend ? LANE_RESENDS_APART_MS : 0;
    bool is_alone = lane->in_flight == 0;
    if (probe_at > now->mono_ms + patience_ms || !destination_allows(lane, now) ||
        (!is_alone && !lane->probe.is_resend))
        return act(LANE_DROP);
    struct lane_decision d = act(LANE_WAIT);
    if (probe_at > now->mono_ms)
        wake_by(&d, probe_at);
    else if (!is_alone)
        ; /* decided again when it ends */
    else if (means->seat)
        return act(LANE_START);
    else
        d.needs = LANE_NEEDS_SEAT;
    return d;
}

/* When to look for callbacks that are given up. */
static int64_t sweep_mono_ms(const struct lane *lane, const struct lane_now *now)
{
    if (!lane->downtime.is_down)
        return INT64_MAX;
    int64_t at = lane->downtime.since_mono_ms + lane->shared->give_up_ms;
    at = int64_max(at, mono_of(lane->scans.next_due_ms, now));
    return int64_max(int64_max(at, lane->scans.sweep.not_before_mono_ms),
                     lane->scans.not_before_mono_ms);
}

static struct lane_decision decide_shut(const struct lane *lane, const struct lane_now *now,
                                        const struct lane_means *means)
{
    int64_t probe_at = start_mono_ms(lane, now);
    if (lane->probe.is_resend)
        probe_at = int64_max(probe_at, lane->probe.resend_mono_ms);
    else if (lane->window.suspended)
        probe_at = int64_max(probe_at, lane->window.probe_mono_ms);
    if (lane->probe.is_ready)
        return decide_probe(lane, now, means, probe_at);
    if (lane_queued(lane) > 0 || lane->retries.count > 0)
        return act(LANE_DROP);
    struct lane_decision d = act(LANE_WAIT);
    if (lane->scans.is_asked)
        return d;
    if (lane->scans.next_due_ms == INT64_MAX)
        return d;
    int64_t sweep_at = sweep_mono_ms(lane, now);
    if (sweep_at <= now->mono_ms) {
        if (means->page_seat)
            return page(PAGE_SWEEP, LIMIT_PAGE_CALLBACKS, now->wall_ms);
        d.needs |= LANE_NEEDS_ROOM;
        return d;
    }
    wake_by(&d, sweep_at);
    if (lane->in_flight > 0)
        return d;
    int64_t at = int64_max(int64_max(probe_at, mono_of(lane->scans.next_due_ms, now)),
                           lane->scans.not_before_mono_ms);
    if (at > now->mono_ms)
        wake_by(&d, at);
    else if (!destination_allows(lane, now))
        d.needs |= LANE_NEEDS_DESTINATION;
    else if (!means->page_seat)
        d.needs |= LANE_NEEDS_ROOM;
    else
        return page(PAGE_PROBE, PROBE_PAGE, now->wall_ms);
    return d;
}

static struct lane_decision decide_draining(const struct lane *lane, const struct lane_now *now,
                                            const struct lane_means *means)
{
    if (lane_queued(lane) > 0)
        return act(LANE_SKIP);
    if (lane->retries.count > 0)
        return act(LANE_DROP);
    struct lane_decision d = act(LANE_WAIT);
    if (lane->scans.next_due_ms == INT64_MAX || lane->scans.is_asked)
        return d;
    if (lane->scans.not_before_mono_ms > now->mono_ms)
        wake_by(&d, lane->scans.not_before_mono_ms);
    else if (!means->page_seat || means->room < PAGE_LEAST)
        d.needs |= LANE_NEEDS_ROOM;
    else
        return page(PAGE_DRAIN, (uint32_t)means->room, INT64_MAX);
    return d;
}

static struct lane_decision decide_leaving(const struct lane *lane)
{
    if (lane_queued(lane) > 0 || lane->retries.count > 0)
        return act(LANE_DROP);
    /* The new loop may page only after all outcomes of this loop are durable. */
    return act(lane->inflight.count == 0 && !lane->scans.is_asked ? LANE_LEAVE : LANE_WAIT);
}

/* True if a page for dating callbacks anew comes next. It takes turns with the lane's other
 * pages. */
static bool dates(const struct lane *lane, const struct lane_now *now,
                  const struct lane_means *means, struct lane_decision *d)
{
    enum lane_mode mode = lane_mode(lane);
    if (lane->scans.dating.late_ms == 0 || !means->dates || lane->scans.is_asked)
        return false;
    if (mode == LANE_LEAVING || mode == LANE_DRAINING)
        return false;
    bool waits = d->action == LANE_WAIT;
    if (!waits && d->action != LANE_START &&
        (d->action != LANE_PAGE || lane->scans.kind == PAGE_LATE))
        return false;
    if (lane->scans.not_before_mono_ms <= now->mono_ms && means->page_seat) {
        *d = page(PAGE_LATE, LIMIT_PAGE_CALLBACKS, INT64_MAX);
        return true;
    }
    if (waits && lane->scans.not_before_mono_ms > now->mono_ms)
        wake_by(d, lane->scans.not_before_mono_ms);
    else if (waits)
        d->needs |= LANE_NEEDS_ROOM;
    return false;
}

struct lane_decision lane_decide(const struct lane *lane, const struct lane_now *now,
                                 const struct lane_means *means)
{
    struct lane_decision d = act(LANE_WAIT);
    switch (lane_mode(lane)) {
    case LANE_LEAVING: return decide_leaving(lane);
    case LANE_HALTED:
    case LANE_HELD:
        if (lane_queued(lane) > 0 || lane->retries.count > 0)
            return act(LANE_DROP);
        break;
    case LANE_DRAINING: d = decide_draining(lane, now, means); break;
    case LANE_SHUT: d = decide_shut(lane, now, means); break;
    case LANE_OPEN: d = decide_open(lane, now, means); break;
    }
    if (dates(lane, now, means, &d))
        return d;
    if (d.action == LANE_WAIT && lane_is_idle(lane) && !lane->gone) {
        int64_t idle_ms = lane->gone_run.count > 0 ? LANE_IDLE_GONE_MS
                          : lane->window.suspended ? LANE_IDLE_SUSPENDED_MS
                                                   : LANE_IDLE_MS;
        int64_t until = int64_max(lane->touched_mono_ms + idle_ms, lane->pace.paused_until_mono_ms);
        if (until <= now->mono_ms)
            return act(LANE_FORGET);
        wake_by(&d, until);
    }
    return d;
}
