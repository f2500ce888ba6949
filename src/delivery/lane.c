/* Transitions of a lane's state. lane.h states the invariant that they keep.
 *
 *   sink --offer--> fresh ---take--> in flight --finish--> retries --ripen--> due --take--> ...
 *                     |                                 \-> (store)
 *   store --page--> due        drop: fresh, due, retries -> (store), noted in next_due_ms */
#include "delivery/lane_inside.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/limits.h"
#include "domain/acceptance_times.h"

#include <stdlib.h>

#define RAM_PER_SEAT 32 /* callbacks in memory for each exchange that the window allows */
#define RAM_SECONDS 10  /* or what the rate allows in this time, if that is less */
#define RAM_LEAST 64
/* The bound until the receiver has answered: otherwise a start with most receivers down would read
 * many callbacks only to drop them. */
#define RAM_UNPROVEN 16
/* The last quarter is reserved for paged callbacks, so that new ones alone cannot fill the lane. */
#define FRESH_IN_RAM (LIMIT_LANE_CALLBACKS_IN_RAM * 3 / 4)

struct lane *lane_new(lane_no no, struct lane_shared *shared, const struct lane_now *now)
{
    struct lane *lane = xcalloc(1, sizeof(*lane));
    lane->magic = LANE_MAGIC;
    lane->no = no;
    lane->shared = shared;
    scans_init(&lane->scans);
    lane->settings.max_concurrency = 1;
    lane->touched_mono_ms = now->mono_ms;
    lane->watermark.made_mono_ms = now->mono_ms;
    window_init(&lane->window);
    return lane;
}

void lane_free(struct lane *lane)
{
    CHECK_MAGIC(lane, LANE_MAGIC);
    ASSERT(lane->inflight.count == 0 && lane->in_ram == 0 && lane->in_flight == 0);
    ASSERT(lane->destination == NULL && !lane->scans.is_asked && lane->turn.waker.place == 0);
    hash_map_free(&lane->inflight);
    lane->magic = 0;
    free(lane);
}

enum lane_mode lane_mode(const struct lane *lane)
{
    if (lane->leaving)
        return LANE_LEAVING;
    if (!lane->settings.enabled)
        return LANE_HALTED;
    if (!lane->settings.has_url)
        return LANE_DRAINING;
    if (lane->settings.disabled || lane->gone)
        return LANE_HELD;
    ASSERT(lane->destination);
    if (lane->window.suspended || lane->destination->dead)
        return LANE_SHUT;
    return LANE_OPEN;
}

bool lane_is_sick(const struct lane *lane)
{
    return lane->window.suspended || lane->window.failed_run > 0 || lane->contact.is_quiet ||
           (!lane->contact.is_proven && lane->in_flight > 0) || lane->backoff.is_on ||
           (lane->destination && lane->destination->failed_run > 0);
}

int32_t lane_ram_goal(const struct lane *lane)
{
    if (!lane->contact.is_proven)
        return RAM_UNPROVEN;
    int64_t goal = (int64_t)lane->window.size * RAM_PER_SEAT;
    int64_t rated = (int64_t)lane->settings.rate_per_second * RAM_SECONDS;
    if (rated > 0 && rated < goal)
        goal = rated;
    if (goal < RAM_LEAST)
        goal = RAM_LEAST;
    return goal < LIMIT_LANE_CALLBACKS_IN_RAM ? (int32_t)goal : LIMIT_LANE_CALLBACKS_IN_RAM;
}

int32_t lane_queued(const struct lane *lane)
{
    return lane->fresh.count + lane->due.count;
}

bool lane_is_idle(const struct lane *lane)
{
    return lane->inflight.count == 0 && lane->scans.next_due_ms == INT64_MAX &&
           !lane->scans.is_asked;
}

static int64_t no_later(int64_t ms, const struct lane_now *now)
{
    return ms < now->wall_ms ? ms : now->wall_ms;
}

/* A time in the future was stored by a clock that was ahead; the true time is unknown. For the app
 * it is taken as now, so that no slot is lost. For the lane it is taken as never: otherwise each
 * process that reads it would skip callbacks that have not waited long. Up to ACCEPTANCE_HELD_MS is
 * accepted, because two nodes' clocks differ by less. */
static void correct_settings(struct lane_settings *s, const struct lane_now *now)
{
    s->enabled_since_ms = no_later(s->enabled_since_ms, now);
    if (acceptance_goes_back(s->lane_enabled_ms, now->wall_ms))
        s->lane_enabled_ms = 0;
    s->lane_enabled_ms = no_later(s->lane_enabled_ms, now);
}

void lane_set(struct lane *lane, const struct lane_settings *settings, const struct lane_now *now)
{
    bool drained = !lane->settings.has_url;
    bool moved = settings->url_hash != lane->settings.url_hash;
    lane->settings = *settings;
    correct_settings(&lane->settings, now);
    lane->leaving = settings->is_elsewhere;
    if (lane->settings.max_concurrency < 1)
        lane->settings.max_concurrency = 1;
    if (moved)
        lane->gone = false;
    /* these were paged to be skipped and may not be due yet */
    if (drained && lane->settings.has_url)
        lane_drop_queued(lane);
    if (moved) { /* a new receiver: it has no failures and no pause yet */
        lane->downtime.is_down = false;
        lane->pace.paused_until_mono_ms = 0;
        lane->backoff.is_on = false; /* its way may be free */
        gone_run_end(&lane->gone_run);
        lane->refused_types = (struct refused_types){0};
    }
    if (moved) /* after a URL is fixed the next attempt follows at once */
        window_probe_now(&lane->window, now->mono_ms);
    lane->touched_mono_ms = now->mono_ms;
}

void lane_begin_leaving(struct lane *lane)
{
    lane->leaving = true;
}

void lane_pause(struct lane *lane, uint64_t url_hash, int64_t until_mono_ms)
{
    if (url_hash == lane->settings.url_hash)
        pace_pause(&lane->pace, until_mono_ms);
}

bool lane_add_gone(struct lane *lane, uint64_t url_hash, uint64_t event_no)
{
    if (lane->gone || lane->settings.disabled || url_hash != lane->settings.url_hash)
        return false;
    lane->gone = gone_run_add(&lane->gone_run, event_no);
    if (lane->gone) /* once enabled again, it is disabled after five more */
        gone_run_end(&lane->gone_run);
    return lane->gone;
}

void lane_settle_gone(struct lane *lane)
{
    lane->gone = false;
}

void lane_note_waiting(struct lane *lane, int64_t due_ms)
{
    scans_note_waiting(&lane->scans, due_ms);
}

void lane_remember(struct lane *lane, struct callback *c, enum inflight_place place)
{
    struct inflight_entry *e = inflight_add(&lane->inflight, c->event_no);
    e->callback = c;
    e->place = (uint8_t)place;
    lane->in_ram++;
    lane->shared->in_ram++;
    lane->shared->in_ram_bytes += c->bytes;
}

/* Removes an entry whose callback has left memory and whose outcomes are all durable; waits for the
 * page under way if there is one. */
void lane_release(struct lane *lane, struct inflight_entry *e)
{
    ASSERT(e->place == INFLIGHT_GONE && e->recording == 0);
    if (e->again)
        lane_note_waiting(lane, 0);
    e->again = false;
    if (lane->scans.is_asked)
        lane->lingering++;
    else
        inflight_remove(&lane->inflight, e);
}

/* Frees the callback; its entry stays until lane_release may remove it. */
static void leave_memory(struct lane *lane, struct inflight_entry *e)
{
    struct callback *c = e->callback;
    bool recording = e->recording > 0;
    e->callback = NULL;
    e->place = INFLIGHT_GONE;
    lane->in_ram--;
    lane->shared->in_ram--;
    lane->shared->in_ram_bytes -= c->bytes;
    if (!recording)
        lane_release(lane, e);
    callback_free(c);
}

static void note_resend(struct callback *held, const struct callback *c)
{
    if (held->resend_no < c->resend_no)
        held->resend_no = c->resend_no;
}

static void offer_again(struct lane *lane, struct inflight_entry *e, struct callback *c)
{
    switch ((enum inflight_place)e->place) {
    case INFLIGHT_QUEUED:
        e->callback->manual |= c->manual;
        note_resend(e->callback, c);
        break;
    case INFLIGHT_RETRY: /* a resend of a waiting callback: due now */
        if (c->resend_no <= e->callback->resend_no)
            break; /* its last attempt answered this resend; the store has not recorded that yet */
        retries_remove(&lane->retries, e->callback);
        /* Only the due time: the rest of the new place may be older than an outcome under way. */
        e->callback->place.due_ms = c->place.due_ms;
        e->callback->manual |= c->manual;
        note_resend(e->callback, c);
        e->place = INFLIGHT_QUEUED;
        callback_queue_push(&lane->due, e->callback);
        break;
    case INFLIGHT_ATTEMPT: note_resend(e->callback, c); break;
    case INFLIGHT_GONE:
        /* Its outcome may be recorded before or after this resend; only the store knows. */
        e->again = true;
        if (e->recording == 0)
            lane_note_waiting(lane, 0);
        break;
    }
    callback_free(c);
}

void lane_note_shown(struct lane *lane, uint64_t event_no)
{
    if (lane->watermark.shown_no >= event_no)
        return;
    lane->watermark.shown_no = event_no & INT64_MAX; /* the database has no higher numbers */
    lane->watermark.covers = false;
}

/* False: the callback may not be owed any more; do not use it. */
static bool is_owed(struct lane *lane, const struct callback *c)
{
    if (c->manual) {
        lane_note_shown(lane, c->event_no);
        lane->scans.is_behind = lane->scans.is_asked;
    }
    if (c->stamp.since_mono_ms == 0)
        return true;
    enum handoff_fate fate = handoff_judge(&lane->watermark, lane->shared->erased_mono_ms,
                                           lane->fence, c->stamp, c->event_no);
    if (fate == HANDOFF_UNSURE)
        lane_note_waiting(lane, c->place.due_ms);
    return fate == HANDOFF_OWED;
}

/* A resend to a receiver that is down is the lane's next attempt, at once: the person who asked for
 * it wants to see whether the receiver works again. It goes before the callback that would have
 * been next. The times of the other attempts do not change, whether it succeeds or not. Resends
 * start LANE_RESENDS_APART_MS apart, so that they cannot overload the receiver. One resend waits
 * here for that time and for the attempt under way; further ones wait in the store like all other
 * due callbacks. */
static void make_way(struct lane *lane)
{
    lane_drop_queued(lane);
    destination_give_probe(lane->destination, lane);
}

void lane_offer(struct lane *lane, struct callback *c, int32_t room, const struct lane_now *now)
{
    CHECK_MAGIC(lane, LANE_MAGIC);
    CHECK_MAGIC(c, CALLBACK_MAGIC);
    lane->touched_mono_ms = now->mono_ms;
    if (!is_owed(lane, c)) {
        callback_free(c);
        return;
    }
    struct inflight_entry *e = inflight_find(&lane->inflight, c->event_no);
    if (e) {
        offer_again(lane, e, c);
        return;
    }
    enum lane_mode mode = lane_mode(lane);
    bool is_next_try = mode == LANE_SHUT && c->manual && !lane->probe.is_resend;
    bool wanted = mode == LANE_OPEN || mode == LANE_DRAINING || is_next_try;
    if (!wanted || room <= 0 || lane->in_ram >= FRESH_IN_RAM) {
        lane_note_waiting(lane, c->place.due_ms);
        callback_free(c);
        return;
    }
    if (is_next_try)
        make_way(lane);
    lane_remember(lane, c, INFLIGHT_QUEUED);
    bool is_fresh = c->place.failed_attempts == 0;
    callback_queue_push(is_fresh ? &lane->fresh : &lane->due, c);
    lane->shared->fresh += is_fresh;
    lane->probe.is_ready = lane->probe.is_resend = is_next_try;
}

static void drop(struct lane *lane, struct callback *c)
{
    lane_note_waiting(lane, c->place.due_ms);
    leave_memory(lane, inflight_find(&lane->inflight, c->event_no));
}

void lane_drop_queued(struct lane *lane)
{
    struct callback *c;
    lane->shared->fresh -= lane->fresh.count;
    while ((c = callback_queue_pop(&lane->fresh)) || (c = callback_queue_pop(&lane->due)) ||
           (c = retries_pop(&lane->retries)))
        drop(lane, c);
    lane->probe.is_ready = lane->probe.is_resend = false;
}

void lane_reread(struct lane *lane)
{
    lane_drop_queued(lane);
    for (struct inflight_entry *e = inflight_after(&lane->inflight, NULL); e;
         e = inflight_after(&lane->inflight, e))
        if (e->callback)
            e->callback->may_be_erased = true;
}

void lane_note_late(struct lane *lane, int64_t by_ms, const struct lane_now *now)
{
    scans_note_late(&lane->scans, by_ms, now->wall_ms + ACCEPTANCE_HELD_MS);
}

void lane_clock_back(struct lane *lane, int64_t by_ms, const struct lane_now *now)
{
    bool idle = lane_is_idle(lane);
    lane_drop_queued(lane);
    lane_spoil_page(lane);
    scans_restart(&lane->scans);
    lane->downtime.reopened_ms = no_later(lane->downtime.reopened_ms, now);
    lane->reported.since_ms = no_later(lane->reported.since_ms, now);
    correct_settings(&lane->settings, now);
    if (idle)
        return;
    lane_note_waiting(lane, now->wall_ms);
    lane_note_late(lane, lane->scans.dating.late_ms + by_ms, now);
}

static void drop_erased(struct lane *lane, struct callback_queue *q)
{
    struct callback_queue all = *q;
    struct callback *c;
    *q = (struct callback_queue){0};
    while ((c = callback_queue_pop(&all)) != NULL) {
        if (c->may_be_erased)
            drop(lane, c);
        else
            callback_queue_push(q, c);
    }
}

static size_t mark_erased(const struct hash_map *inflight, uint32_t account_no,
                          struct str panelist_id)
{
    size_t count = 0;
    for (struct inflight_entry *e = inflight_after(inflight, NULL); e;
         e = inflight_after(inflight, e)) {
        struct callback *c = e->callback;
        if (!c || c->account_no != account_no || !str_eq(c->panelist_id, panelist_id))
            continue;
        c->may_be_erased = true;
        count++;
    }
    return count;
}

size_t lane_erase(struct lane *lane, uint32_t account_no, struct str panelist_id)
{
    size_t count = mark_erased(&lane->inflight, account_no, panelist_id);
    if (count == 0)
        return 0;
    lane->shared->fresh -= lane->fresh.count;
    drop_erased(lane, &lane->fresh);
    lane->shared->fresh += lane->fresh.count;
    drop_erased(lane, &lane->due);
    for (uint32_t i = 0; i < lane->retries.count;) {
        struct callback *c = lane->retries.items[i].callback;
        if (!c->may_be_erased) {
            i++;
            continue;
        }
        retries_remove(&lane->retries, c);
        drop(lane, c);
        i = 0; /* the heap has been reordered */
    }
    if (lane_queued(lane) == 0)
        lane->probe.is_ready = lane->probe.is_resend = false;
    return count;
}

void lane_ripen(struct lane *lane, const struct lane_now *now)
{
    while (retries_earliest(&lane->retries) <= now->mono_ms) {
        struct callback *c = retries_pop(&lane->retries);
        if (!c)
            break;
        inflight_find(&lane->inflight, c->event_no)->place = INFLIGHT_QUEUED;
        callback_queue_push(&lane->due, c);
    }
    lane->contact.is_quiet =
        lane->in_flight > 0 && now->mono_ms - lane->contact.heard_mono_ms > LANE_QUIET_MS;
}

void lane_heard(struct lane *lane, const struct lane_now *now)
{
    lane->contact.heard_mono_ms = now->mono_ms;
    lane->contact.is_proven = true;
    lane->contact.is_quiet = false;
    lane_downtime_end(&lane->downtime, now->wall_ms);
}

void lane_note_mode(struct lane *lane, const struct lane_now *now)
{
    enum lane_mode mode = lane_mode(lane);
    if (mode == LANE_SHUT) {
        lane_downtime_begin(&lane->downtime, now->mono_ms);
        lane->was_shut = true;
    } else if (mode == LANE_OPEN && lane->was_shut) {
        lane_downtime_end(&lane->downtime, now->wall_ms);
        lane->was_shut = false;
    }
}

bool lane_gives_up(const struct lane *lane, const struct schedule *s, const struct callback *c,
                   const struct lane_now *now)
{
    struct schedule_place place = c->place;
    lane_settle_place(lane, &place);
    if (lane_mode(lane) != LANE_SHUT || inflight_find(&lane->inflight, c->event_no))
        return false;
    int64_t lead_ms = clock_lead_ms(&lane->shared->lead, now->mono_ms);
    return callback_is_given_up(s, &place, &lane->downtime, now->wall_ms - lead_ms, now->mono_ms);
}

struct callback *lane_take(struct lane *lane)
{
    bool fresh = lane->due.count == 0 || (lane->fresh.count > 0 && !lane->took_fresh);
    struct callback *c = callback_queue_pop(fresh ? &lane->fresh : &lane->due);
    ASSERT(c);
    lane->took_fresh = fresh;
    lane->shared->fresh -= fresh;
    lane->probe.is_ready = lane->probe.is_resend = false;
    inflight_find(&lane->inflight, c->event_no)->place = INFLIGHT_ATTEMPT;
    lane->in_flight++;
    return c;
}

void lane_count_start(struct lane *lane, const struct lane_now *now)
{
    if (lane->in_flight == 1)
        lane->contact.heard_mono_ms = now->mono_ms;
    pace_count_start(&lane->pace, lane->settings.rate_per_second, now->mono_ms);
}

void lane_count_resend(struct lane *lane, const struct lane_now *now)
{
    lane->probe.resend_mono_ms = now->mono_ms + LANE_RESENDS_APART_MS;
}

void lane_finish(struct lane *lane, struct callback *c, enum lane_finish how, int32_t room,
                 const struct lane_now *now)
{
    struct inflight_entry *e = inflight_find(&lane->inflight, c->event_no);
    ASSERT(e && e->place == INFLIGHT_ATTEMPT && lane->in_flight > 0);
    lane->in_flight--;
    lane->touched_mono_ms = now->mono_ms;
    e->again = how == LANE_FINISH_LOOK;
    if (how == LANE_FINISH_CANCELLED) {
        drop(lane, c);
        return;
    }
    e->recording++;
    int64_t wait_ms = c->place.due_ms - now->wall_ms;
    if (how == LANE_FINISH_WAITING && lane_mode(lane) == LANE_OPEN && room > 0 &&
        wait_ms <= LANE_RETRY_IN_RAM_MS) {
        e->place = INFLIGHT_RETRY;
        retries_add(&lane->retries, c, now->mono_ms + (wait_ms > 0 ? wait_ms : 0));
        return;
    }
    leave_memory(lane, e);
}

void lane_recorded(struct lane *lane, uint64_t event_no, enum callback_state state, int64_t due_ms,
                   const struct lane_now *now)
{
    struct inflight_entry *e = inflight_find(&lane->inflight, event_no);
    ASSERT(e && e->recording > 0);
    lane->touched_mono_ms = now->mono_ms;
    e->recording--;
    if (e->recording > 0 || e->place != INFLIGHT_GONE)
        return;
    if (state == CALLBACK_PENDING)
        lane_note_waiting(lane, due_ms);
    lane_release(lane, e);
}

void lane_settle_place(const struct lane *lane, struct schedule_place *place)
{
    if (place->due_ms < lane->settings.enabled_since_ms)
        place->due_ms = lane->settings.enabled_since_ms;
}
