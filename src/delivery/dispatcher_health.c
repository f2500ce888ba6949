/* Numbers: how each lane has been doing, and what all attempts came to. */
#include "delivery/dispatcher.h"

#include "base/check.h"

#include <stdio.h>

struct health *dispatcher_find_health(const struct dispatcher *d, lane_no no)
{
    for (struct lookup_node *n = lookup_first(&d->healths, dispatcher_hash(no)); n;
         n = lookup_next(n)) {
        struct health *h = CONTAINER_OF(n, struct health, node);
        if (h->lane == no)
            return h;
    }
    return NULL;
}

void dispatcher_count(struct dispatcher *d, const struct try *t, const struct lane_now *now)
{
    struct lane *lane = t->lane;
    if (!lane->health) {
        lane->health = health_new(lane->no, now->mono_ms);
        lookup_add(&d->healths, &lane->health->node, dispatcher_hash(lane->no));
    }
    bool good = t->x.class == ATTEMPT_OK;
    health_add(lane->health, good, t->x.duration_ms, now->mono_ms);
    if (!good)
        health_add_error(lane->health, t->x.class, t->x.detail, d->outside->wall_ms(d->outside));
    ASSERT((unsigned)t->x.class < ATTEMPT_CLASSES);
    atomic_fetch_add_explicit(&d->attempts[t->x.class], 1, memory_order_relaxed);
}

struct sweep {
    struct dispatcher *dispatcher;
    int64_t now_mono_ms;
    bool all;
};

static void sweep_one(void *context, struct lookup_node *node)
{
    struct sweep *s = context;
    struct health *h = CONTAINER_OF(node, struct health, node);
    if (!s->all && !health_is_stale(h, s->now_mono_ms))
        return;
    struct lane *lane = dispatcher_find(s->dispatcher, h->lane);
    if (lane)
        lane->health = NULL;
    lookup_remove(&s->dispatcher->healths, node);
    health_free(h);
}

void dispatcher_free_healths(struct dispatcher *d, bool all)
{
    struct sweep s = {d, dispatcher_now(d).mono_ms, all};
    lookup_visit(&d->healths, sweep_one, &s);
}

static void fill_from_lane(struct lane_health *to, const struct lane *lane,
                           const struct lane_now *now)
{
    enum lane_mode mode = lane_mode(lane);
    to->suspended = mode == LANE_SHUT;
    to->disabled = lane->settings.disabled || lane->gone;
    to->paused = lane->paused_until_mono_ms > now->mono_ms;
    to->in_flight = lane->in_flight;
    to->waiting_in_ram = lane->in_ram - lane->in_flight;
    to->window = lane->window.size;
    int64_t at = now->mono_ms;
    if (lane->window.suspended && lane->window.probe_mono_ms > at)
        at = lane->window.probe_mono_ms;
    if (lane->destination && lane->destination->dead && lane->destination->probe_mono_ms > at)
        at = lane->destination->probe_mono_ms;
    if (to->paused && lane->paused_until_mono_ms > at)
        at = lane->paused_until_mono_ms;
    if (to->suspended || to->paused)
        to->next_try_ms = now->wall_ms + (at - now->mono_ms);
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
    to->succeeded_1h = s.succeeded_1h;
    to->failed_1h = s.failed_1h;
    to->succeeded_24h = s.succeeded_24h;
    to->failed_24h = s.failed_24h;
    to->latency_p50_ms = s.p50_ms;
    to->latency_p95_ms = s.p95_ms;
    to->latency_p99_ms = s.p99_ms;
    to->last_class = h->last_class;
    to->last_error_ms = h->last_error_ms;
    snprintf(to->last_detail, sizeof(to->last_detail), "%s", h->last_detail ? h->last_detail : "");
}
