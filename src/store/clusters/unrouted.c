/* Waiting lanes of apps that this node does not know yet. The home announces new apps, and the
 * app's own cluster its waiting lanes, so a lane may be announced before its app. Without the app
 * its cluster, and so its lease, is unknown: the lane is kept here and announced again when the app
 * is placed. */
#include "store/clusters/clusters.h"

#include "base/alloc.h"

/* A lane beyond this bound is found when its cluster searches for late callbacks (handover.c). */
#define UNROUTED_MOST 1024

static bool is_known(const struct part *p, lane_no lane)
{
    return cluster_map_get(p->all->apps, lane_app_no(lane)) == p->index;
}

/* Keeps each lane once. */
static void put(struct clusters *c, const struct lane_backlog *lane)
{
    for (size_t i = 0; i < c->unrouted_count; i++)
        if (c->unrouted[i].lane == lane->lane)
            return;
    if (c->unrouted_count == UNROUTED_MOST)
        return;
    c->unrouted =
        xgrow(c->unrouted, &c->unrouted_capacity, c->unrouted_count + 1, sizeof *c->unrouted);
    c->unrouted[c->unrouted_count++] = *lane;
}

/* Looks again under the lock, because the app may have been placed meanwhile. */
static bool keep_unrouted(struct part *p, struct lane_backlog lane)
{
    if (is_known(p, lane.lane))
        return false;
    /* a callback that is due earlier may be accepted until the lane is announced */
    lane.next_due_ms = 0;
    pthread_mutex_lock(&p->all->lock);
    bool known = is_known(p, lane.lane);
    if (!known)
        put(p->all, &lane);
    pthread_mutex_unlock(&p->all->lock);
    return !known;
}

void clusters_announce_waiting(struct part *p, const struct lane_backlog *lanes, size_t count)
{
    struct store_watcher *to = atomic_load(&p->all->watcher);
    size_t from = 0;
    for (size_t i = 0; i <= count; i++) {
        if (i < count && !keep_unrouted(p, lanes[i]))
            continue;
        if (to && i > from)
            to->waiting(to, lanes + from, i - from);
        from = i + 1;
    }
}

void clusters_owed(struct owed_sink *sink, struct callback **callbacks, size_t count)
{
    struct part *p = CONTAINER_OF(sink, struct part, sink);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct callback *cb = callbacks[i];
        if (keep_unrouted(p, (struct lane_backlog){.lane = lane_of(cb->app_no, cb->lane)}))
            callback_free(cb);
        else
            callbacks[kept++] = cb;
    }
    if (kept > 0)
        p->all->sink->owed(p->all->sink, callbacks, kept);
}

void clusters_app_known(struct clusters *c, uint32_t app_no)
{
    bool any = false;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->unrouted_count; i++)
        any |= lane_app_no(c->unrouted[i].lane) == app_no;
    pthread_mutex_unlock(&c->lock);
    if (any)
        clusters_wake_keepers(c);
}

void clusters_retry_unrouted(struct clusters *c)
{
    struct lane_backlog known[UNROUTED_MOST];
    size_t count = 0, left = 0;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->unrouted_count; i++) {
        struct lane_backlog *lane = &c->unrouted[i];
        if (cluster_map_get(c->apps, lane_app_no(lane->lane)) != 0)
            known[count++] = *lane;
        else
            c->unrouted[left++] = *lane;
    }
    c->unrouted_count = left;
    pthread_mutex_unlock(&c->lock);
    pthread_mutex_lock(&c->opening); /* keeps the watcher registered during the call */
    struct store_watcher *to = atomic_load(&c->watcher);
    if (to && count > 0)
        to->waiting(to, known, count);
    pthread_mutex_unlock(&c->opening);
}
