/* Resends for one recovery in one tick: its parts take turns, one callback each, while their lanes
 * have room and the rate allows. A suspended or paused lane gets one now and then. */
#include "services/recovery_state.h"

#include "base/alloc.h"

#include <stdlib.h>

#define PAGE_ROWS 200
#define LANE_ROOM 16            /* callbacks that may wait in a lane besides its window */
#define CLOCKS_DIFFER_MS 5000   /* between two nodes */
#define LANE_SHUT_EVERY_MS 5000 /* between two for a suspended or paused lane, per recovery */

static bool read_page(struct recoveries *all, const struct recovery *r,
                      const struct recovery_part *part, struct part_page *page)
{
    arena_free(&page->list.arena);
    *page = (struct part_page){
        .list = {.done.run = waiter_wake,
                 .reply_to = &all->waiter.executor,
                 .account_no = r->account_no,
                 .state = part->state,
                 .app_no = part->app_no,
                 .has_from = true,
                 .accepted_from_ms = r->from_ms,
                 .has_to = true,
                 .accepted_to_ms = r->until_ms,
                 .order = LIST_OLDEST_FIRST,
                 .attempts = part->state == CALLBACK_DELIVERED ? ATTEMPTS_ALL : ATTEMPTS_NONE,
                 .after_event_no = part->after_event_no,
                 .limit = PAGE_ROWS},
    };
    store_list_callbacks(all->store, &page->list);
    waiter_wait(&all->waiter);
    page->there = page->list.status == STORE_OK;
    return page->there;
}

/* True: it was delivered after the recovery was requested, by its own retry or by this recovery.
 * Attempts that are no longer kept were made long before. An attempt dated later than now was dated
 * by a clock that was ahead, so its time is unknown: then an extra attempt does less harm than a
 * missing one. */
static bool is_delivered_since(const struct recovery *r, const struct callback_row *row,
                               int64_t now_ms)
{
    const struct attempt *last = row->log_count > 0 ? &row->log[row->log_count - 1] : NULL;
    if (row->state != CALLBACK_DELIVERED || !last)
        return false;
    int64_t ended_ms = last->at_ms + last->duration_ms;
    return ended_ms >= r->created_ms && ended_ms <= now_ms + CLOCKS_DIFFER_MS;
}

/* Moves the position past a callback. */
static void step(struct running *at, size_t i, const struct callback_row *row)
{
    at->r.parts[i].after_event_no = row->event.event_no;
    at->pages[i].at++;
    at->changed = true;
}

/* The part's next callback; NULL: there is none, or it cannot be read now. */
static const struct callback_row *next_row(struct recoveries *all, struct running *at, size_t i)
{
    struct recovery_part *part = &at->r.parts[i];
    struct part_page *page = &at->pages[i];
    while (part->state != CALLBACK_NONE) {
        const struct callback_row *row =
            page->there && page->at < page->list.count ? &page->list.rows[page->at] : NULL;
        bool is_later = row && row->event.event_no > at->r.last_event_no;
        if (row && !is_later) {
            if (!is_delivered_since(&at->r, row, env_wall_ms(all->env)))
                return row;
            step(at, i, row);
        } else if (is_later || (page->there && !page->list.more)) {
            part->state = recovery_next_state(at->r.states, part->state);
            part->after_event_no = 0;
            page->there = false;
            at->changed = true;
        } else if (!read_page(all, &at->r, part, page)) {
            return NULL;
        }
    }
    return NULL;
}

/* How many more callbacks a lane may get in this tick; asked once per tick. */
struct lane_room {
    lane_no lane;
    int64_t room;
};

/* A part's position before a callback was taken. */
struct place {
    size_t part;
    enum callback_state state;
    uint64_t after_event_no;
};

struct tick {
    struct recoveries *all;
    struct running *at;
    struct lane_room *lanes;
    size_t lane_count, lane_capacity;
    struct resend *resends;
    struct place *places; /* of each resend */
    size_t count, allowed;
    struct arena arena; /* the ids that are being resent */
};

static int64_t ask_room(struct tick *t, lane_no lane)
{
    struct lane_health_query query = {
        .done.run = waiter_wake, .reply_to = &t->all->waiter.executor, .lane = lane};
    delivery_get_health(t->all->delivery, &query);
    waiter_wait(&t->all->waiter);
    const struct lane_health *h = &query.health;
    if (!h->suspended && !h->paused) {
        int64_t room = LANE_ROOM + (int64_t)h->window - h->waiting_in_ram;
        return room > 0 ? room : 0;
    }
    /* A resend is tried at once, even on a suspended lane: it must not come before the lane's own
     * time. */
    int64_t now_ms = env_mono_ms(t->all->env);
    if (h->next_try_ms > env_wall_ms(t->all->env) ||
        now_ms - t->at->shut_mono_ms < LANE_SHUT_EVERY_MS)
        return 0;
    t->at->shut_mono_ms = now_ms;
    return 1;
}

static struct lane_room *room_of(struct tick *t, lane_no lane)
{
    for (size_t i = 0; i < t->lane_count; i++)
        if (t->lanes[i].lane == lane)
            return &t->lanes[i];
    t->lanes = xgrow(t->lanes, &t->lane_capacity, t->lane_count + 1, sizeof *t->lanes);
    t->lanes[t->lane_count++] = (struct lane_room){lane, ask_room(t, lane)};
    return &t->lanes[t->lane_count - 1];
}

/* Takes the part's next callback if its lane has room. */
static bool take_one(struct tick *t, size_t i)
{
    struct running *at = t->at;
    const struct callback_row *row = next_row(t->all, at, i);
    if (!row)
        return false;
    struct lane_room *room = room_of(t, lane_of(row->event.app_no, row->event.lane));
    if (room->room <= 0)
        return false;
    room->room--;
    t->places[t->count] = (struct place){i, at->r.parts[i].state, at->r.parts[i].after_event_no};
    t->resends[t->count++] = (struct resend){
        .done.run = waiter_wake,
        .reply_to = &t->all->waiter.executor,
        .account_no = at->r.account_no,
        .event_id = arena_str(&t->arena, row->event.event_id),
        .now_ms = env_wall_ms(t->all->env),
        .only_states = 1u << at->r.parts[i].state,
    };
    step(at, i, row);
    return true;
}

/* The parts take turns, one callback each, until none has any or the rate is used up. */
static void take_turns(struct tick *t)
{
    struct running *at = t->at;
    size_t idle = 0;
    while (t->count < t->allowed && idle < at->r.part_count) {
        bool took = take_one(t, at->turn % at->r.part_count);
        idle = took ? 0 : idle + 1;
        at->turn++;
    }
}

/* The store cannot take it now: reads the part again from there. Callbacks resent after that
 * position have another state by then, so they are not resent twice (except delivered ones: one
 * attempt more). */
static void go_back(struct running *at, const struct place *to)
{
    at->r.parts[to->part].state = to->state;
    at->r.parts[to->part].after_event_no = to->after_event_no;
    at->pages[to->part].there = false;
}

static void resend_all(struct tick *t)
{
    for (size_t i = 0; i < t->count; i++)
        store_resend(t->all->store, &t->resends[i]);
    int64_t resent = 0, purged = 0, erased = 0;
    for (size_t i = 0; i < t->count; i++)
        waiter_wait(&t->all->waiter);
    for (size_t i = t->count; i-- > 0;) {
        enum store_status status = t->resends[i].status; /* not found: it has left that state */
        resent += status == STORE_OK;
        purged += status == STORE_PURGED;
        erased += status == STORE_ERASED;
        if (status == STORE_BUSY)
            go_back(t->at, &t->places[i]);
    }
    struct recovery *r = &t->at->r;
    pthread_mutex_lock(&t->all->lock);
    r->resent += resent;
    r->purged += purged;
    r->erased += erased;
    pthread_mutex_unlock(&t->all->lock);
}

/* The number that the rate allows now; unused allowance is kept for two ticks at most. */
static size_t refill(struct recoveries *all, struct running *at)
{
    int64_t now_ms = env_mono_ms(all->env), rate = at->r.rate_per_second;
    int64_t most = rate * 2 * RECOVERY_TICK_MS > 1000 ? rate * 2 * RECOVERY_TICK_MS : 1000;
    at->credit_milli += (now_ms - at->refilled_mono_ms) * rate;
    at->refilled_mono_ms = now_ms;
    if (at->credit_milli > most)
        at->credit_milli = most;
    return (size_t)(at->credit_milli / 1000);
}

void recovery_tick(struct recoveries *all, struct running *at)
{
    struct tick t = {.all = all, .at = at, .allowed = refill(all, at)};
    if (t.allowed == 0)
        return;
    t.resends = xcalloc(t.allowed, sizeof *t.resends);
    t.places = xcalloc(t.allowed, sizeof *t.places);
    take_turns(&t);
    at->credit_milli -= (int64_t)t.count * 1000;
    resend_all(&t);
    free(t.resends);
    free(t.places);
    free(t.lanes);
    arena_free(&t.arena);
}
