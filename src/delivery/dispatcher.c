/* The driver of one loop's lanes: keeps the lanes in memory, gives them turns, and sets the time of
 * the next tick.
 *
 * A tick ends in this order:
 * - wake what has fallen due;
 * - visit each touched lane: lane_decide, until it says start or wait;
 * - let lanes that may start take turns, healthy ones first, DISPATCHER_QUANTUM starts a turn,
 *   until the tick's bound on starts;
 * - submit the tick's outcomes as one batch;
 * - set the next wake-up.
 * The turns keep a busy or broken lane from delaying the others. */
#include "delivery/dispatcher.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

#define HEALTH_SWEEP_MS HOUR_MS
#define CALLBACK_BYTES_LIKELY 1024
#define PAGES_SHARE 4 /* pages may reserve a quarter of the memory for callbacks */

/* How many callbacks may be in memory: bounded by number and by bytes, at the average size of those
 * in memory. */
static int64_t most_in_ram(const struct dispatcher *d)
{
    const struct lane_shared *in = &d->shared;
    int64_t bytes_each = in->in_ram > 0 ? in->in_ram_bytes / in->in_ram : CALLBACK_BYTES_LIKELY;
    int64_t total = d->room.bytes / bytes_each;
    return total < d->room.total ? total : d->room.total;
}

/* How many callbacks the lane may still add in memory. */
int32_t dispatcher_room(const struct dispatcher *d, const struct lane *lane)
{
    int64_t total = most_in_ram(d);
    int64_t room = total - d->shared.in_ram - d->room.reserved;
    if (lane->in_ram >= LANE_ROOM_ALWAYS)
        room -= total / 8; /* reserved for lanes that have almost nothing in memory */
    return room > 0 ? (int32_t)room : 0;
}

/* The same of what it pages. Pages may wait for the store, with nothing in the room that they have
 * reserved: if they could reserve all of it, new callbacks would find none, and would have to be
 * paged, too. One page is always allowed. */
static int32_t page_room(const struct dispatcher *d, const struct lane *lane)
{
    int64_t share = most_in_ram(d) / PAGES_SHARE, room = dispatcher_room(d, lane);
    if (share < LIMIT_PAGE_CALLBACKS)
        share = LIMIT_PAGE_CALLBACKS;
    share -= d->room.reserved;
    return (int32_t)(share < 0 ? 0 : share < room ? share : room);
}

void dispatcher_touch(struct dispatcher *d, struct lane *lane)
{
    if (lane->turn.is_touched)
        return;
    lane->turn.is_touched = true;
    list_push(&d->touched, &lane->turn.touched);
}

struct lane *dispatcher_find(const struct dispatcher *d, lane_no no)
{
    struct hash_node *node = hash_map_first(&d->lanes, hash_number(no));
    return node ? CONTAINER_OF(node, struct lane, node) : NULL;
}

struct lane *dispatcher_lane(struct dispatcher *d, lane_no no)
{
    struct lane *lane = dispatcher_find(d, no);
    if (lane)
        return lane;
    int64_t fence = leases_fence(d->delivery->leases, no);
    if (d->delivery->leases && fence == 0)
        return NULL;
    int owner = lane_affinity_claim(d->delivery->affinity, no, d->index);
    if (owner != d->index) {
        struct note note = {.kind = NOTE_WAITING, .number = no, .due_ms = 0};
        dispatcher_tell(d->delivery->dispatchers[owner], note);
        return NULL;
    }
    struct lane_now now = dispatcher_now(d);
    lane = lane_new(no, &d->shared, &now);
    lane->fence = fence;
    lane->turn.waker.kind = WAKER_LANE;
    lane->health = dispatcher_find_health(d, no);
    hash_map_add(&d->lanes, &lane->node, hash_number(no));
    dispatcher_refresh(d, lane);
    return lane;
}

/* --- settings ------------------------------------------------------------------------------ */

static void join_url(struct dispatcher *d, struct lane *lane, const struct app *app,
                     enum lane_kind kind)
{
    struct destination *to = dispatcher_destination(d, app, &app->parsed[kind]);
    if (to == lane->destination)
        dispatcher_let_destination_go(d, to);
    else
        dispatcher_join(d, lane, to);
}

void dispatcher_set_lane(struct dispatcher *d, struct lane *lane, const struct app *app)
{
    enum lane_kind kind = lane_kind_of(lane->no);
    struct lane_settings s = {.max_concurrency = 1};
    int owner = LOOP_NONE;
    if (app) {
        const struct str *url = &app->url[kind];
        s = (struct lane_settings){
            .enabled = app->enabled,
            .has_url = url->p != NULL,
            .disabled = app->terms.lane_disabled[kind],
            .max_concurrency = app->max_concurrency,
            .rate_per_second = app->rate_per_second,
            .enabled_since_ms = app->enabled_since_ms,
            .lane_enabled_ms = app->lane_enabled_ms[kind],
            .url_hash = url->p ? hash_fast(url->p, url->n) : 0,
            .app_version = app->version,
        };
        owner = delivery_loop_of(d->delivery, app, kind);
    }
    struct lane_now now = dispatcher_now(d);
    s.is_elsewhere = (owner != LOOP_NONE && owner != d->index) ||
                     leases_lost(d->delivery->leases, lane->no, lane->fence);
    if (s.has_url)
        join_url(d, lane, app, kind);
    else
        dispatcher_leave_destination(d, lane);
    lane_set(lane, &s, &now);
    dispatcher_touch(d, lane);
}

void dispatcher_refresh(struct dispatcher *d, struct lane *lane)
{
    struct app *app = directory_app_by_no(d->delivery->options.directory, lane_app_no(lane->no));
    dispatcher_set_lane(d, lane, app);
    app_unref(app);
}

/* --- visits --------------------------------------------------------------------------------- */

static void set_ready(struct dispatcher *d, struct lane *lane, int queue) /* 0: in none */
{
    if (lane->turn.ready_queue == queue)
        return;
    if (lane->turn.ready_queue)
        list_remove(&d->ready[lane->turn.ready_queue - 1], &lane->turn.ready);
    lane->turn.ready_queue = (uint8_t)queue;
    if (queue)
        list_push(&d->ready[queue - 1], &lane->turn.ready);
}

static void set_wanting_room(struct dispatcher *d, struct lane *lane, bool wants)
{
    if (lane->turn.is_wanting_room == wants)
        return;
    lane->turn.is_wanting_room = wants;
    if (wants)
        list_push(&d->room.wanted_by, &lane->turn.wants_room);
    else
        list_remove(&d->room.wanted_by, &lane->turn.wants_room);
}

/* Takes the lane out of the dispatcher and frees it. */
static void forget(struct dispatcher *d, struct lane *lane)
{
    set_ready(d, lane, 0);
    set_wanting_room(d, lane, false);
    if (lane->turn.is_touched)
        list_remove(&d->touched, &lane->turn.touched);
    wake_heap_clear(&d->heap, &lane->turn.waker);
    dispatcher_leave_destination(d, lane);
    if (lane->window.suspended)
        d->suspended--;
    hash_map_remove(&d->lanes, &lane->node);
    lane_free(lane);
}

static void leave(struct dispatcher *d, struct lane *lane)
{
    lane_no no = lane->no;
    int64_t late_ms = lane->scans.dating.late_ms;
    bool lost = leases_lost(d->delivery->leases, no, lane->fence);
    struct app *app = directory_app_by_no(d->delivery->options.directory, lane_app_no(no));
    int owner = app ? delivery_loop_of(d->delivery, app, lane_kind_of(no)) : LOOP_NONE;
    if (owner == LOOP_NONE)
        owner = d->index;
    if (!lost && owner == d->index) { /* the URL has been changed back or cleared meanwhile */
        dispatcher_set_lane(d, lane, app);
    } else { /* lost: this node may hold the shard again, under another fence */
        forget(d, lane);
        lane_affinity_move(d->delivery->affinity, no, owner);
        struct note note = {.kind = NOTE_WAITING, .number = no, .due_ms = 0, .late_ms = late_ms};
        dispatcher_tell(d->delivery->dispatchers[owner], note);
    }
    app_unref(app);
}

static void watch_lease(void *context, struct hash_node *node)
{
    struct dispatcher *d = context;
    struct lane *lane = CONTAINER_OF(node, struct lane, node);
    if (leases_lost(d->delivery->leases, lane->no, lane->fence))
        lane_begin_leaving(lane);
    dispatcher_touch(d, lane); /* the lease runs again, so its lanes may start */
}

void dispatcher_watch_leases(struct dispatcher *d)
{
    hash_map_visit(&d->lanes, watch_lease, d);
}

/* If the lease has ended, the lane waits for the notification of its renewal and takes no turn. */
static bool lease_runs(const struct dispatcher *d, const struct lane *lane)
{
    return leases_run(leases_of(d->delivery->leases, lane->no), d->runtime->mono_ms(d->runtime));
}

static struct lane_decision decide(struct dispatcher *d, struct lane *lane)
{
    struct lane_now now = dispatcher_now(d);
    struct lane_means means = {
        .seat = dispatcher_has_seat(d, lane_is_sick(lane)) && lease_runs(d, lane),
        .page_seat = d->pages < DISPATCHER_PAGES && !dispatcher_outcomes_full(d),
        .dates = d->recording.old == 0,
        .room = page_room(d, lane),
    };
    lane_ripen(lane, &now);
    lane_note_mode(lane, &now);
    return lane_decide(lane, &now, &means);
}

/* Puts the lane into the list or the heap for what it waits for. */
static void settle(struct dispatcher *d, struct lane *lane, const struct lane_decision *what)
{
    bool ready =
        what->action == LANE_START || ((what->needs & LANE_NEEDS_SEAT) && lease_runs(d, lane));
    set_ready(d, lane, ready ? 1 + lane_is_sick(lane) : 0);
    set_wanting_room(d, lane, (what->needs & LANE_NEEDS_ROOM) != 0);
    dispatcher_block(d, lane, (what->needs & LANE_NEEDS_DESTINATION) != 0);
    if (what->wake_mono_ms == INT64_MAX)
        wake_heap_clear(&d->heap, &lane->turn.waker);
    else
        wake_heap_set(&d->heap, &lane->turn.waker, what->wake_mono_ms);
    dispatcher_settle_probe(d, lane);
    struct lane_now now = dispatcher_now(d);
    dispatcher_note_state(d, lane, &now);
}

static void visit(struct dispatcher *d, struct lane *lane)
{
    CHECK_MAGIC(lane, LANE_MAGIC);
    for (;;) {
        struct lane_decision what = decide(d, lane);
        switch (what.action) {
        case LANE_START:
        case LANE_WAIT: settle(d, lane, &what); return;
        case LANE_SKIP: dispatcher_skip(d, lane); break;
        case LANE_PAGE: dispatcher_page(d, lane, &what); break;
        case LANE_DROP: lane_drop_queued(lane); break;
        case LANE_LEAVE: leave(d, lane); return;
        case LANE_FORGET:
            dispatcher_note_forgotten(d, lane);
            forget(d, lane);
            return;
        }
    }
}

/* Runs one turn of a ready lane. A lane that has more to start goes to the end of the list. */
static void turn(struct dispatcher *d, struct lane *lane)
{
    set_ready(d, lane, 0);
    for (int i = 0; i < DISPATCHER_QUANTUM; i++) {
        if (decide(d, lane).action != LANE_START || !dispatcher_start(d, lane))
            break;
    }
    visit(d, lane);
}

static void run_touched(struct dispatcher *d)
{
    struct link *link;
    while ((link = list_pop(&d->touched)) != NULL) {
        struct lane *lane = CONTAINER_OF(link, struct lane, turn.touched);
        lane->turn.is_touched = false;
        visit(d, lane);
    }
}

static void run_ready(struct dispatcher *d)
{
    for (int sick = 0; sick < 2; sick++) {
        while (d->ready[sick].first && dispatcher_has_seat(d, sick)) {
            turn(d, CONTAINER_OF(d->ready[sick].first, struct lane, turn.ready));
            run_touched(d);
        }
    }
}

/* Visits the lanes that could not page for lack of room, as many as have room now. */
static void run_wanting_room(struct dispatcher *d)
{
    if (dispatcher_outcomes_full(d))
        return;
    for (size_t n = d->room.wanted_by.count; n > 0 && d->pages < DISPATCHER_PAGES; n--) {
        struct link *link = d->room.wanted_by.first;
        if (!link)
            break;
        struct lane *lane = CONTAINER_OF(link, struct lane, turn.wants_room);
        set_wanting_room(d, lane, false);
        visit(d, lane);
        if (d->room.wanted_by.last == link) /* it got nothing, so the next one would not either */
            break;
    }
}

/* --- the tick ------------------------------------------------------------------------------- */

static void wake_due(struct dispatcher *d, int64_t mono_ms)
{
    struct waker *waker;
    while ((waker = wake_heap_pop_due(&d->heap, mono_ms)) != NULL) {
        if (waker->kind == WAKER_LANE)
            dispatcher_touch(d, CONTAINER_OF(waker, struct lane, turn.waker));
        else
            dispatcher_wake_blocked(d, CONTAINER_OF(waker, struct destination, waker));
    }
}

static void publish(struct dispatcher *d)
{
    atomic_store_explicit(&d->published.in_flight, d->seats.taken, memory_order_relaxed);
    atomic_store_explicit(&d->published.in_ram, d->shared.in_ram, memory_order_relaxed);
    atomic_store_explicit(&d->published.lanes, (long long)d->lanes.count, memory_order_relaxed);
    atomic_store_explicit(&d->published.suspended, d->suspended, memory_order_relaxed);
}

static int64_t stop_deadline(const struct dispatcher *d)
{
    int64_t at = 0;
    for (struct link *link = d->attempts.under_way.first; link; link = link->next) {
        int64_t ends = CONTAINER_OF(link, struct delivery_attempt, link)->ends_mono_ms +
                       DISPATCHER_STOP_SLACK_MS;
        at = ends > at ? ends : at;
    }
    return at;
}

static void run_stopping(struct dispatcher *d, int64_t mono_ms)
{
    if (d->stopped)
        return;
    if (d->attempts.under_way.count > 0 && mono_ms >= stop_deadline(d))
        dispatcher_cancel_all(d);
    dispatcher_submit(d);
    if (d->attempts.under_way.count > 0 || d->recording.under_way > 0 || d->pages > 0)
        return;
    d->stopped = true;
    dispatcher_close_inbox(d);
    struct delivery *all = d->delivery;
    if (atomic_fetch_sub(&all->running, 1) == 1 && all->stopped)
        executor_post(all->reply_to, all->stopped);
}

/* True if some lanes wait only for the next tick. */
static bool has_more(const struct dispatcher *d)
{
    return (d->ready[0].first && dispatcher_has_seat(d, false)) ||
           (d->ready[1].first && dispatcher_has_seat(d, true));
}

/* Slow receivers do not put it behind: their lanes wait for answers, not for the next tick. Nor
 * does a backlog: what is read back from the store is not new. */
static bool is_behind(const struct dispatcher *d)
{
    return d->shared.fresh > LIMIT_FRESH_IN_TIME && has_more(d);
}

static int64_t next_wake(const struct dispatcher *d, int64_t mono_ms)
{
    if (d->stopping)
        return d->stopped || d->attempts.under_way.count == 0 ? INT64_MAX : stop_deadline(d);
    if (d->failed) /* the store has failed: the process is about to end */
        return INT64_MAX;
    if (has_more(d))
        return mono_ms;
    int64_t at = wake_heap_earliest(&d->heap);
    /* Also without lanes: of a clock that was put back and then set forward as far, a loop that has
     * not looked in between notices nothing. */
    int64_t check = (mono_ms / DISPATCHER_CHECK_MS + 1) * DISPATCHER_CHECK_MS;
    return at < check ? at : check;
}

static void set_wake(struct dispatcher *d, int64_t mono_ms)
{
    int64_t at = next_wake(d, mono_ms);
    if (at == d->wake_mono_ms && at > mono_ms)
        return; /* set already: most ticks do not change it */
    d->wake_mono_ms = at;
    d->runtime->wake_at(d->runtime, at);
}

static void tick_end(void *context)
{
    struct dispatcher *d = context;
    CHECK_MAGIC(d, DISPATCHER_MAGIC);
    struct lane_now now = dispatcher_now(d);
    if (!d->stopping && !d->failed) {
        dispatcher_watch_clock(d);
        wake_due(d, now.mono_ms);
        run_touched(d);
        run_wanting_room(d);
        run_ready(d);
        dispatcher_submit(d);
    }
    d->seats.tick_starts = 0;
    if (d->stopping)
        run_stopping(d, now.mono_ms);
    if (now.mono_ms - d->health_swept_mono_ms >= HEALTH_SWEEP_MS) {
        d->health_swept_mono_ms = now.mono_ms;
        dispatcher_free_healths(d, false);
    }
    dispatcher_free_finished(d);
    set_wake(d, now.mono_ms);
    d->behind = is_behind(d);
    publish(d);
}

/* --- life ------------------------------------------------------------------------------------ */

void dispatcher_set_schedule(struct dispatcher *d, const struct schedule *schedule)
{
    d->schedule = *schedule;
    d->shared.give_up_ms = callback_give_up_ms(schedule);
    callback_set_lead_window(&d->shared.lead, schedule, d->runtime->mono_ms(d->runtime));
}

struct dispatcher *dispatcher_new(struct delivery *delivery, int index,
                                  struct dispatcher_runtime *runtime, int64_t seats, int64_t room)
{
    ASSERT(seats > 0 && room > 0);
    struct dispatcher *d = xcalloc(1, sizeof(*d));
    d->magic = DISPATCHER_MAGIC;
    d->index = index;
    d->delivery = delivery;
    d->runtime = runtime;
    d->seats.total = seats;
    d->room.total = room;
    d->room.bytes = LIMIT_CALLBACKS_IN_RAM_BYTES / (int64_t)delivery->count;
    d->inbox.most_bytes = LIMIT_CALLBACKS_HANDED_BYTES / delivery->count;
    d->recording.most_bytes = LIMIT_OUTCOMES_UNRECORDED_BYTES / (int64_t)delivery->count;
    dispatcher_set_schedule(d, &delivery->options.schedule);
    d->clock.mono_ms = d->health_swept_mono_ms = runtime->mono_ms(runtime);
    d->clock.wall_ms = runtime->wall_ms(runtime);
    dispatcher_open_inbox(d);
    runtime->context = d;
    runtime->on_tick_end = tick_end;
    set_wake(d, d->clock.mono_ms);
    return d;
}

static void free_lane(void *context, struct hash_node *node)
{
    struct dispatcher *d = context;
    struct lane *lane = CONTAINER_OF(node, struct lane, node);
    lane_drop_queued(lane);
    forget(d, lane);
}

void dispatcher_free(struct dispatcher *d)
{
    CHECK_MAGIC(d, DISPATCHER_MAGIC);
    d->runtime->wake_at(d->runtime, INT64_MAX);
    ASSERT(d->attempts.under_way.count == 0 && d->recording.under_way == 0 && d->pages == 0);
    d->runtime->on_tick_end = NULL;
    if (!d->stopped)
        dispatcher_close_inbox(d);
    dispatcher_free_finished(d);
    dispatcher_free_spare(d);
    dispatcher_free_spare_recording(d);
    hash_map_visit(&d->lanes, free_lane, d);
    dispatcher_free_healths(d, true);
    ASSERT(d->destinations.count == 0);
    hash_map_free(&d->lanes);
    hash_map_free(&d->destinations);
    hash_map_free(&d->healths);
    wake_heap_free(&d->heap);
    ASSERT(pthread_mutex_destroy(&d->inbox.lock) == 0);
    d->magic = 0;
    free(d);
}
