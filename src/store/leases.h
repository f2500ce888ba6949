/* What of the lanes is this process's to deliver, where several share one database: written by the
 * store, read by everybody at any time. A store that one process has alone has none of this
 * (store_leases gives NULL): there everything may be delivered, under fence 0.
 *
 * Shards and fences: store/nodes/shards.h. A lane is made under the fence that its shard has then,
 * and carries it to every outcome: the store commits those only while that is still the shard's.
 *
 * Where accounts are split over several clusters (store/clusters/) each has shards, nodes and
 * leases of its own: what is asked of a lane is then asked of the leases of its cluster. */
#pragma once

#include "base/arena.h"
#include "base/executor.h"
#include "domain/event.h"
#include "store/nodes/shards.h"

#include <stdatomic.h>

struct leases {
    /* Of several clusters: the leases of the one that has the lane, and whether this process hears
     * of what others change; the rest has no meaning then. NULL: these are all there are. */
    struct leases *(*of)(struct leases *l, lane_no lane);
    bool (*fresh)(struct leases *l, int64_t mono_ms);
    /* Under which lanes are kept and exchanges start; 0: not here, or about to leave. */
    atomic_llong fence[SHARDS];
    /* Exchanges under way, or recorded and not yet durable: a shard that leaves waits for them. */
    atomic_int busy[SHARDS];
    atomic_llong until_mono_ms; /* nothing starts any more from then on; a renewal moves it */
};

static inline uint32_t leases_shard(lane_no lane)
{
    return shard_of_app((uint32_t)(lane / LANE_KINDS));
}

static inline struct leases *leases_of(struct leases *l, lane_no lane)
{
    return l && l->of ? l->of(l, lane) : l;
}

/* 0: not ours. */
static inline int64_t leases_fence(struct leases *all, lane_no lane)
{
    struct leases *l = leases_of(all, lane);
    return l ? atomic_load(&l->fence[leases_shard(lane)]) : 0;
}

static inline bool leases_have(struct leases *l, lane_no lane)
{
    return !l || leases_fence(l, lane) != 0;
}

/* Whether the lane was made under a fence that no longer holds. */
static inline bool leases_lost(struct leases *l, lane_no lane, int64_t fence)
{
    return l && leases_fence(l, lane) != fence;
}

/* Of one cluster: leases_of. */
static inline bool leases_run(struct leases *l, int64_t mono_ms)
{
    return !l || mono_ms < atomic_load(&l->until_mono_ms);
}

/* Whether this process hears of what others change: else it cannot say whether a key or a session
 * is still good. */
#define LEASES_FRESH_MS 10000 /* behind the end of the lease */
static inline bool leases_fresh(struct leases *l, int64_t mono_ms)
{
    return l && l->fresh ? l->fresh(l, mono_ms) : leases_run(l, mono_ms - LEASES_FRESH_MS);
}

/* An exchange starts: counted until leases_end. False: it must not. The count comes first and the
 * store looks at it last, so that no shard leaves between the two. */
static inline bool leases_begin(struct leases *all, lane_no lane, int64_t fence)
{
    struct leases *l = leases_of(all, lane);
    if (!l)
        return true;
    atomic_int *busy = &l->busy[leases_shard(lane)];
    atomic_fetch_add(busy, 1);
    if (leases_fence(l, lane) == fence)
        return true;
    atomic_fetch_sub(busy, 1);
    return false;
}

static inline void leases_end(struct leases *all, lane_no lane)
{
    struct leases *l = leases_of(all, lane);
    if (l)
        atomic_fetch_sub(&l->busy[leases_shard(lane)], 1);
}

/* Whether this is the process that does what one is enough for: it has the first shard, of several
 * clusters the first one's. */
static inline bool leases_first(struct leases *all)
{
    struct leases *l = leases_of(all, 0);
    return !l || atomic_load(&l->fence[0]) != 0;
}

struct lane_backlog; /* store.h */

/* A question to the process that has an app's shard: how the endpoints do of that app, or of all
 * apps of its account or of anybody's that this process delivers to. */
enum question_scope { QUESTION_APP, QUESTION_ACCOUNT, QUESTION_ALL };

/* Told by a store that is shared with other processes, on its own threads; must not block. */
struct store_watcher {
    /* Which shards are held, or under which fence, or until when, is another than before. */
    void (*leases)(struct store_watcher *w);
    /* Something waits in these lanes, perhaps put there by another process. */
    void (*waiting)(struct store_watcher *w, const struct lane_backlog *lanes, size_t count);
    /* Another process has erased a panelist of that account. */
    void (*erased)(struct store_watcher *w, uint32_t account_no);
    /* The feed has something. */
    void (*objects)(struct store_watcher *w);
    /* Another process wants to know of an app whose shard is here: store_answer. */
    void (*asked)(struct store_watcher *w, int64_t question, uint32_t app_no,
                  enum question_scope scope);
};

struct store_question {
    struct task done;
    struct executor *reply_to;
    struct arena arena;
    uint32_t app_no;
    enum question_scope scope;
    bool answered;               /* false: not in time */
    struct str answer;           /* as the other one gave it; in the arena */
    struct store_question *next; /* the store's, and what follows */
    int64_t id, until_mono_ms;
};
