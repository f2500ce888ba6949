/* Handles changes of the wall clock: docs/state.md, "The clock".
 *
 * Due times are stored as wall clock times. When the clock is put back, a callback that got its due
 * time before would wait too long by the same amount. Therefore each lane gives its queued
 * callbacks back to the store, waits until its outcomes are durable, and then reads, once, all
 * callbacks that are due later than now. If a callback's due time is later than its place in the
 * schedule allows, the callback gets an earlier one. The due time moves by at most the amount that
 * the clock was put back. */
#include "delivery/dispatcher.h"

#include "base/alloc.h"
#include "base/check.h"
#include "domain/acceptance_times.h"

#include <stdlib.h>

#define LATE_UNKNOWN_MS (INT64_MAX / 2) /* the clock may have been wrong by any amount */

struct lane_now dispatcher_now(struct dispatcher *d)
{
    int64_t mono_ms = d->runtime->mono_ms(d->runtime);
    int64_t wall_ms = d->runtime->wall_ms(d->runtime);
    int64_t expected_ms = d->clock.wall_ms + (mono_ms - d->clock.mono_ms);
    if (wall_ms - expected_ms > CLOCK_LEAD_LEAST_MS) {
        d->clock.jumped = true;
        clock_lead_add(&d->shared.lead, wall_ms - expected_ms, mono_ms);
    }
    if (acceptance_goes_back(expected_ms, wall_ms)) {
        d->clock.back_ms += expected_ms - wall_ms;
        expected_ms = wall_ms;
    }
    d->clock.wall_ms = wall_ms > expected_ms ? wall_ms : expected_ms;
    d->clock.mono_ms = mono_ms;
    return (struct lane_now){.wall_ms = d->clock.wall_ms, .mono_ms = mono_ms};
}

/* --- what follows ---------------------------------------------------------------------------- */

static void touch_lane(void *context, struct hash_node *node)
{
    dispatcher_touch(context, CONTAINER_OF(node, struct lane, node));
}

static void put_back_lane(void *context, struct hash_node *node)
{
    struct dispatcher *d = context;
    struct lane *lane = CONTAINER_OF(node, struct lane, node);
    struct lane_now now = dispatcher_now(d);
    lane_clock_back(lane, d->clock.back_ms, &now);
    dispatcher_touch(d, lane);
}

void dispatcher_watch_clock(struct dispatcher *d)
{
    if (d->clock.back_ms > 0) {
        dispatcher_submit(d);
        d->recording.old = d->recording.under_way;
        d->clock.epoch++;
        hash_map_visit(&d->lanes, put_back_lane, d);
    } else if (d->clock.jumped) { /* the clock was set forward: waiting callbacks are due */
        hash_map_visit(&d->lanes, touch_lane, d);
    }
    d->clock.back_ms = 0;
    d->clock.jumped = false;
}

void dispatcher_recorded_old(struct dispatcher *d)
{
    ASSERT(d->recording.old > 0);
    if (--d->recording.old == 0)
        hash_map_visit(&d->lanes, touch_lane, d);
}

/* --- dating anew ----------------------------------------------------------------------------- */

/* The latest time at which the callback may be due. A callback delayed by Retry-After may be due
 * when the pause of its lane ends, because that pause holds the whole lane. */
static int64_t latest_ms(const struct dispatcher *d, const struct lane *lane,
                         const struct schedule_place *place, const struct lane_now *now)
{
    int64_t wait_ms = schedule_wait_most_ms(&d->schedule, place);
    int64_t pause_ms = lane->pace.paused_until_mono_ms - now->mono_ms;
    return now->wall_ms + (place->slot > 0 && pause_ms > wait_ms ? pause_ms : wait_ms);
}

int64_t dispatcher_late_ms(const struct dispatcher *d, const struct lane *lane,
                           const struct schedule_place *place, const struct lane_now *now)
{
    int64_t late_ms = place->due_ms - latest_ms(d, lane, place, now);
    return late_ms > ACCEPTANCE_HELD_MS ? late_ms : 0;
}

/* The longest that a callback may have to wait, wherever its place in the schedule is. */
static int64_t longest_wait_ms(const struct schedule *s)
{
    int64_t longest_ms = SCHEDULE_RETRY_AFTER_MOST_MS;
    for (int32_t slot = 1; slot <= s->steps; slot++) {
        int64_t wait_ms = schedule_wait_most_ms(s, &(struct schedule_place){.slot = slot});
        longest_ms = wait_ms > longest_ms ? wait_ms : longest_ms;
    }
    return longest_ms;
}

/* A newest event of the future, or a late callback that was handed over, proves that the clock was
 * put back: all later callbacks are read, as after a jump in this process. Otherwise only those are
 * read that are due later than any wait allows: usually there are none, and the page costs one seek
 * in the index. */
void dispatcher_suspect_dates(struct dispatcher *d, struct lane *lane)
{
    if (lane->scans.is_suspected)
        return;
    lane->scans.is_suspected = true;
    struct lane_now now = dispatcher_now(d);
    bool is_proven = lane->scans.dating.late_ms > 0 ||
                     acceptance_goes_back(d->delivery->newest_event_ms, now.wall_ms);
    int64_t wait_ms = is_proven ? 0 : longest_wait_ms(&d->schedule);
    scans_note_late(&lane->scans, LATE_UNKNOWN_MS, now.wall_ms + wait_ms + ACCEPTANCE_HELD_MS);
}

struct dating {
    struct resend resend;
    struct dispatcher *dispatcher;
    lane_no lane;
    int64_t late_ms;
    uint32_t clock_epoch;
    struct arena arena;
};

static void resent(struct task *task)
{
    struct dating *r = CONTAINER_OF(CONTAINER_OF(task, struct resend, done), struct dating, resend);
    struct dispatcher *d = r->dispatcher;
    CHECK_MAGIC(d, DISPATCHER_MAGIC);
    (void)dispatcher_store_failed(d, r->resend.status);
    struct lane *lane = dispatcher_find(d, r->lane);
    if (lane && (r->resend.status == STORE_BUSY || r->resend.status == STORE_REFUSED)) {
        struct lane_now now = dispatcher_now(d);
        lane_note_late(lane, r->late_ms, &now);
        dispatcher_touch(d, lane);
    }
    d->recording.under_way--;
    if (r->clock_epoch != d->clock.epoch)
        dispatcher_recorded_old(d);
    arena_free(&r->arena);
    free(r);
}

/* A waiting resend is due at once, and an outcome would answer it. Therefore the resend is asked
 * for again. */
static void resend(struct dispatcher *d, const struct lane *lane, const struct callback *c,
                   int64_t late_ms, const struct lane_now *now)
{
    struct dating *r = xcalloc(1, sizeof(*r));
    r->dispatcher = d;
    r->lane = lane->no;
    r->late_ms = late_ms;
    r->clock_epoch = d->clock.epoch;
    r->resend = (struct resend){
        .done = {.run = resent},
        .reply_to = d->runtime->executor,
        .account_no = c->account_no,
        .event_id = arena_str(&r->arena, c->event_id),
        .now_ms = now->wall_ms,
        .only_states = 1u << (c->was_delivered ? CALLBACK_DELIVERED : CALLBACK_PENDING),
    };
    d->recording.under_way++;
    store_resend(d->delivery->options.store, &r->resend);
}

/* Also dates a callback that the lane has in memory, because the lane may give it back to the
 * store. A callback with an attempt under way gets its new date from that attempt. */
void dispatcher_date(struct dispatcher *d, struct lane *lane, const struct callback *c)
{
    struct lane_now now = dispatcher_now(d);
    struct inflight_entry *e = inflight_find(&lane->inflight, c->event_no);
    if (e && e->place != INFLIGHT_QUEUED)
        return;
    if (e)
        c = e->callback;
    struct schedule_place place = c->place;
    int64_t late_ms = dispatcher_late_ms(d, lane, &place, &now);
    int64_t most_ms = lane->scans.dating.late_ms;
    if (late_ms == 0)
        return;
    place.due_ms -= late_ms < most_ms ? late_ms : most_ms;
    if (c->manual || c->was_delivered) {
        resend(d, lane, c, late_ms, &now);
        return;
    }
    struct outcome outcome = dispatcher_outcome_of(lane, c);
    outcome.state = CALLBACK_PENDING;
    outcome.place = place;
    lane_redate(lane, c->event_no, &place);
    dispatcher_record(d, &outcome);
}
