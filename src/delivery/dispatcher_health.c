/* Collects each lane's health, tells it to those who ask, and totals all attempts. Warns once a day
 * that a receiver's certificate expires soon. */
#include "delivery/dispatcher.h"

#include "base/log.h"
#include "domain/certificate_expiry.h"
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
    bool soon = certificate_expires_soon(at_ms, now_ms);
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
        health_add_error(lane->health, t->x.class, t->x.status, t->x.format, t->x.detail,
                         d->runtime->wall_ms(d->runtime));
    dispatcher_count_attempt(d, t);
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
    to->last_format = h->last_format;
    to->last_error_ms = h->last_error_ms;
    snprintf(to->last_detail, sizeof(to->last_detail), "%s", h->last_detail ? h->last_detail : "");
}
