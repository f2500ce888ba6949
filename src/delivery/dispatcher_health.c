/* Names each lane's state (open, suspended, paused, ...), collects its health, and totals all
 * attempts. Warns once a day that a receiver's certificate expires soon. */
#include "delivery/dispatcher.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/log.h"
#include "domain/clock.h"

#include <stdio.h>

struct health *dispatcher_find_health(const struct dispatcher *d, lane_no no)
{
    struct hash_node *node = hash_map_first(&d->healths, hash_number(no));
    return node ? CONTAINER_OF(node, struct health, node) : NULL;
}

#define SAY_AGAIN_MS DAY_MS

/* Notes the receiver's certificate, so that its expiry is reported long before callbacks fail. */
static void note_certificate(struct dispatcher *d, struct health *h,
                             const struct delivery_attempt *t, int64_t now_ms)
{
    int64_t at_ms = t->x.certificate_expires_ms;
    if (at_ms == 0 && t->x.status == 0)
        return; /* the attempt did not get to TLS */
    h->certificate_expires_ms = at_ms;
    bool soon = at_ms != 0 && at_ms - now_ms <= LIMIT_CERTIFICATE_WARNING_MS;
    if (soon ? now_ms - h->certificate_said_ms < SAY_AGAIN_MS : h->certificate_well)
        return;
    h->certificate_well = !soon;
    if (d->delivery->options.on_certificate)
        d->delivery->options.on_certificate(d->delivery->options.context, t->app, t->callback->lane,
                                            at_ms, soon);
    if (!soon)
        return;
    h->certificate_said_ms = now_ms;
    struct buf day = {0};
    clock_print(&day, at_ms);
    log_warning("certificate_expires", LOG_C("certificate", "receiver"), LOG_STR("app", t->app->id),
                LOG_C("endpoint", lane_kind_name(t->callback->lane)), LOG_STR("at", buf_str(&day)));
    buf_free(&day);
}

void dispatcher_count_attempt(struct dispatcher *d, const struct delivery_attempt *t)
{
    ASSERT((unsigned)t->x.class < ATTEMPT_CLASSES);
    atomic_fetch_add_explicit(&d->published.attempts[t->x.class], 1, memory_order_relaxed);
    size_t bucket = latency_index(&latency_buckets, t->x.duration_ms);
    atomic_fetch_add_explicit(&d->published.durations[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&d->published.duration_ms_total, t->x.duration_ms,
                              memory_order_relaxed);
}

void dispatcher_count(struct dispatcher *d, const struct delivery_attempt *t,
                      const struct lane_now *now)
{
    struct lane *lane = t->lane;
    if (!lane->health) {
        lane->health = health_new(lane->no, now->mono_ms);
        hash_map_add(&d->healths, &lane->health->node, hash_number(lane->no));
    }
    bool good = t->x.class == ATTEMPT_OK;
    note_certificate(d, lane->health, t, now->wall_ms);
    health_add(lane->health, good, t->x.duration_ms, now->mono_ms);
    if (!good)
        health_add_error(lane->health, t->x.class, t->x.status, t->x.detail,
                         d->runtime->wall_ms(d->runtime));
    dispatcher_count_attempt(d, t);
}

/* --- what state a lane is in -------------------------------------------------------------------
 */

static enum lane_state state_of(const struct lane *lane, const struct lane_now *now)
{
    switch (lane_mode(lane)) {
    case LANE_HALTED: return LANE_STATE_APP_DISABLED;
    case LANE_DRAINING: return LANE_STATE_NOT_CONFIGURED;
    case LANE_HELD: return LANE_STATE_DISABLED;
    case LANE_SHUT: return lane->window.suspended ? LANE_STATE_SUSPENDED : LANE_STATE_HOST_DOWN;
    case LANE_LEAVING:
    case LANE_OPEN: break;
    }
    return lane->pace.paused_until_mono_ms > now->mono_ms ? LANE_STATE_PAUSED : LANE_STATE_OPEN;
}

static void tell(struct dispatcher *d, const struct lane *lane, const struct app *app,
                 enum lane_state before)
{
    const struct health *h = lane->health;
    bool failed = h && h->last_error_ms && lane->reported.state != LANE_STATE_OPEN;
    struct lane_notice notice = {
        .app = app,
        .kind = lane_kind_of(lane->no),
        .state = lane->reported.state,
        .since_ms = lane->reported.since_ms,
        .class = failed ? h->last_class : ATTEMPT_OK,
        .status = failed ? h->last_status : 0,
        .error_ms = failed ? h->last_error_ms : 0,
        .detail = failed && h->last_detail ? h->last_detail : "",
    };
    if (before != lane->reported.state)
        log_info("lane_state", LOG_STR("app", app->id),
                 LOG_C("endpoint", lane_kind_name(notice.kind)),
                 LOG_C("from", lane_state_name(before)),
                 LOG_C("to", lane_state_name(lane->reported.state)),
                 LOG_C("class", attempt_class_name(notice.class)), LOG_INT("status", notice.status),
                 LOG_C("detail", notice.detail),
                 LOG_C("fix",
                       failed ? attempt_fix(notice.class, notice.status, app->request_format) : ""),
                 LOG_INT("waiting_in_memory", lane->in_ram));
    if (d->delivery->options.on_lane_state)
        d->delivery->options.on_lane_state(d->delivery->options.context, &notice);
}

static void tell_with_app(struct dispatcher *d, struct lane *lane, enum lane_state before)
{
    struct app *app = directory_app_by_no(d->delivery->options.directory, lane_app_no(lane->no));
    if (!app)
        return;
    tell(d, lane, app, before);
    app_unref(app);
}

void dispatcher_note_state(struct dispatcher *d, struct lane *lane, const struct lane_now *now)
{
    enum lane_state state = state_of(lane, now), before = lane->reported.state;
    if (state == before)
        return;
    lane->reported = (struct lane_reported){.state = state, .since_ms = now->wall_ms};
    tell_with_app(d, lane, before);
}

void dispatcher_note_success(struct dispatcher *d, struct lane *lane)
{
    if (lane->reported.success || lane->reported.state != LANE_STATE_OPEN)
        return;
    lane->reported.success = true;
    tell_with_app(d, lane, LANE_STATE_OPEN);
}

const char *lane_state_name(enum lane_state state)
{
    static const char *const names[LANE_STATES] = {
        [LANE_STATE_OPEN] = "open",
        [LANE_STATE_PAUSED] = "paused",
        [LANE_STATE_SUSPENDED] = "suspended",
        [LANE_STATE_HOST_DOWN] = "host_down",
        [LANE_STATE_DISABLED] = "disabled",
        [LANE_STATE_NOT_CONFIGURED] = "not_configured",
        [LANE_STATE_APP_DISABLED] = "app_disabled",
    };
    ASSERT((unsigned)state < LANE_STATES);
    return names[state];
}

/* --- all lanes together -------------------------------------------------------------------------
 */

struct overseeing {
    const struct dispatcher *dispatcher;
    struct delivery_overview *to;
    int64_t now_mono_ms;
};

/* How much a lane needs attention; 0: not at all. A lane that makes no progress ranks before a slow
 * one, and a slow one before one with occasional failures. Within a rank the waiting and failed
 * callbacks count. */
static int64_t badness_of(const struct lane *lane, const struct health_summary *s)
{
    static const int64_t of_state[LANE_STATES] = {[LANE_STATE_PAUSED] = 1,
                                                  [LANE_STATE_SUSPENDED] = 3,
                                                  [LANE_STATE_HOST_DOWN] = 3,
                                                  [LANE_STATE_DISABLED] = 2};
    int64_t state = lane ? of_state[lane->reported.state] : 0,
            waiting = lane ? lane_queued(lane) : 0;
    if (state == 0 && s->failed_1h > s->succeeded_1h)
        state = 1;
    int64_t size = s->failed_1h + waiting;
    return (state << 40) + (size < INT64_C(1) << 40 ? size : (INT64_C(1) << 40) - 1);
}

static void note_bad(struct delivery_overview *to, lane_no lane, int64_t badness)
{
    size_t at = to->worst_count;
    if (badness == 0 || (at == OVERVIEW_WORST && to->worst[OVERVIEW_WORST - 1].badness >= badness))
        return;
    if (at < OVERVIEW_WORST)
        to->worst_count++;
    else
        at--;
    for (; at > 0 && to->worst[at - 1].badness < badness; at--)
        to->worst[at] = to->worst[at - 1];
    to->worst[at] = (struct overview_lane){lane, badness};
}

static void oversee_lane(void *context, struct hash_node *node)
{
    const struct overseeing *o = context;
    const struct lane *lane = CONTAINER_OF(node, struct lane, node);
    o->to->lanes[lane->reported.state]++;
    o->to->window += (int64_t)lane->window.size;
    if (!lane->health) /* counted by its health below */
        note_bad(o->to, lane->no, badness_of(lane, &(struct health_summary){0}));
}

static void oversee_health(void *context, struct hash_node *node)
{
    const struct overseeing *o = context;
    const struct health *h = CONTAINER_OF(node, struct health, node);
    struct delivery_overview *to = o->to;
    int64_t expires_ms = h->certificate_expires_ms;
    if (expires_ms != 0 &&
        (to->certificate_expires_ms == 0 || expires_ms < to->certificate_expires_ms))
        to->certificate_expires_ms = expires_ms;
    struct health_summary s = health_summarise(h, o->now_mono_ms);
    int64_t tries = s.succeeded_1h + s.failed_1h;
    to->succeeded_1m += s.succeeded_1m;
    note_bad(to, h->lane, badness_of(dispatcher_find(o->dispatcher, h->lane), &s));
    if (tries > 0)
        to->tried_1h++;
    if (s.p99_ms > to->worst_p99_ms)
        to->worst_p99_ms = s.p99_ms;
    if (tries < OVERVIEW_TRIES_LEAST)
        return;
    int64_t permille = s.succeeded_1h * 1000 / tries;
    if (permille < to->worst_success_permille)
        to->worst_success_permille = permille;
    to->failing_1h += permille < 500;
}

void dispatcher_oversee(struct dispatcher *d, struct delivery_overview *to)
{
    struct overseeing o = {d, to, dispatcher_now(d).mono_ms};
    hash_map_visit(&d->lanes, oversee_lane, &o);
    hash_map_visit(&d->healths, oversee_health, &o);
}

struct sweep {
    struct dispatcher *dispatcher;
    int64_t now_mono_ms;
    bool all;
};

static void sweep_one(void *context, struct hash_node *node)
{
    struct sweep *s = context;
    struct health *h = CONTAINER_OF(node, struct health, node);
    if (!s->all && !health_is_stale(h, s->now_mono_ms))
        return;
    struct lane *lane = dispatcher_find(s->dispatcher, h->lane);
    if (lane)
        lane->health = NULL;
    hash_map_remove(&s->dispatcher->healths, node);
    health_free(h);
}

void dispatcher_free_healths(struct dispatcher *d, bool all)
{
    struct sweep s = {d, dispatcher_now(d).mono_ms, all};
    hash_map_visit(&d->healths, sweep_one, &s);
}

static void fill_from_lane(struct lane_health *to, const struct lane *lane,
                           const struct lane_now *now)
{
    enum lane_mode mode = lane_mode(lane);
    to->state = lane->reported.state;
    to->state_since_ms = lane->reported.since_ms;
    to->suspended = mode == LANE_SHUT;
    to->disabled = lane->settings.disabled || lane->gone;
    to->paused = lane->pace.paused_until_mono_ms > now->mono_ms;
    to->in_flight = lane->in_flight;
    to->waiting_in_ram = lane->in_ram - lane->in_flight;
    to->window = lane->window.size;
    int64_t at = now->mono_ms;
    if (lane->window.suspended && lane->window.probe_mono_ms > at)
        at = lane->window.probe_mono_ms;
    if (lane->destination && lane->destination->dead && lane->destination->probe_mono_ms > at)
        at = lane->destination->probe_mono_ms;
    if (to->paused && lane->pace.paused_until_mono_ms > at)
        at = lane->pace.paused_until_mono_ms;
    if (to->suspended || to->paused)
        to->next_try_ms = now->wall_ms + (at - now->mono_ms);
}

void dispatcher_fill_briefs(struct dispatcher *d, struct delivery_briefs *briefs)
{
    struct lane_now now = dispatcher_now(d);
    for (size_t i = 0; i < briefs->count; i++) {
        struct lane_brief *to = &briefs->items[i];
        if (lane_affinity_get(d->delivery->affinity, to->lane) != d->index)
            continue; /* the health of a lane that has moved to another loop is out of date */
        const struct lane *lane = dispatcher_find(d, to->lane);
        const struct health *h = dispatcher_find_health(d, to->lane);
        if (lane) {
            struct lane_health full = {0};
            fill_from_lane(&full, lane, &now);
            to->state = full.state;
            to->suspended = full.suspended;
            to->disabled = full.disabled;
            to->paused = full.paused;
        }
        if (h) {
            struct health_summary s = health_summarise(h, now.mono_ms);
            to->succeeded_1h = s.succeeded_1h;
            to->failed_1h = s.failed_1h;
        }
    }
}

void dispatcher_fill_health(struct dispatcher *d, struct lane_health_query *query)
{
    struct lane_health *to = &query->health;
    *to = (struct lane_health){0};
    struct lane_now now = dispatcher_now(d);
    const struct lane *lane = dispatcher_find(d, query->lane);
    if (lane)
        fill_from_lane(to, lane, &now);
    const struct health *h = dispatcher_find_health(d, query->lane);
    to->known = lane || h;
    if (!h)
        return;
    struct health_summary s = health_summarise(h, now.mono_ms);
    to->succeeded_1m = s.succeeded_1m;
    to->succeeded_1h = s.succeeded_1h;
    to->failed_1h = s.failed_1h;
    to->succeeded_24h = s.succeeded_24h;
    to->failed_24h = s.failed_24h;
    to->latency_p50_ms = s.p50_ms;
    to->latency_p95_ms = s.p95_ms;
    to->latency_p99_ms = s.p99_ms;
    to->certificate_expires_ms = h->certificate_expires_ms;
    to->last_class = h->last_class;
    to->last_status = h->last_status;
    to->last_error_ms = h->last_error_ms;
    snprintf(to->last_detail, sizeof(to->last_detail), "%s", h->last_detail ? h->last_detail : "");
}
