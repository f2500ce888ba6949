/* Lanes of apps that this node has not heard of yet. An app may have events before word of it is
 * here, as the first cluster tells of apps and the app's own of what waits. Which cluster's leases
 * such a lane has is not known, so it is set aside, and told of again once the app is placed. */
#include "store/clusters/clusters.h"

#include "base/alloc.h"

/* Beyond, a lane is found when its cluster is looked through for what is late (handover.c). */
#define ASIDE_MOST 1024

static bool is_known(const struct part *p, lane_no lane)
{
    return cluster_map_get(p->all->apps, (uint32_t)(lane / LANE_KINDS)) == p->index;
}

/* Of each lane one. */
static void put(struct clusters *c, const struct lane_backlog *lane)
{
    for (size_t i = 0; i < c->aside_count; i++)
        if (c->aside[i].lane == lane->lane)
            return;
    if (c->aside_count == ASIDE_MOST)
        return;
    c->aside = xgrow(c->aside, &c->aside_capacity, c->aside_count + 1, sizeof *c->aside);
    c->aside[c->aside_count++] = *lane;
}

/* Looked at again under the lock: whoever has placed it since may have looked through already. */
static bool set_aside(struct part *p, struct lane_backlog lane)
{
    if (is_known(p, lane.lane))
        return false;
    lane.next_due_ms = 0; /* it may be an earlier one when it is told */
    pthread_mutex_lock(&p->all->lock);
    bool known = is_known(p, lane.lane);
    if (!known)
        put(p->all, &lane);
    pthread_mutex_unlock(&p->all->lock);
    return !known;
}

void clusters_tell_waiting(struct part *p, const struct lane_backlog *lanes, size_t count)
{
    struct store_watcher *to = atomic_load(&p->all->watcher);
    size_t from = 0;
    for (size_t i = 0; i <= count; i++) {
        if (i < count && !set_aside(p, lanes[i]))
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
        if (set_aside(p, (struct lane_backlog){.lane = lane_of(cb->app_no, cb->lane)}))
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
    for (size_t i = 0; i < c->aside_count; i++)
        any |= c->aside[i].lane / LANE_KINDS == app_no;
    pthread_mutex_unlock(&c->lock);
    if (any)
        clusters_wake_keepers(c);
}

void clusters_tell_aside(struct clusters *c)
{
    struct lane_backlog known[ASIDE_MOST];
    size_t count = 0, left = 0;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->aside_count; i++) {
        struct lane_backlog *lane = &c->aside[i];
        if (cluster_map_get(c->apps, (uint32_t)(lane->lane / LANE_KINDS)) != 0)
            known[count++] = *lane;
        else
            c->aside[left++] = *lane;
    }
    c->aside_count = left;
    pthread_mutex_unlock(&c->lock);
    pthread_mutex_lock(&c->opening); /* the watcher stays as long */
    struct store_watcher *to = atomic_load(&c->watcher);
    if (to && count > 0)
        to->waiting(to, known, count);
    pthread_mutex_unlock(&c->opening);
}
