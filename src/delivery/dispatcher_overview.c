/* Totals over all lanes of a loop, for metrics, and the lanes that need attention first. */
#include "delivery/dispatcher.h"

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
