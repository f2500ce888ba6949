/* Which lanes this process may deliver, where several processes share one database.
 *
 * The store writes the leases; any thread reads them at any time. A store that one process has
 * alone has no leases (store_leases returns NULL): that process may deliver every lane, under fence
 * 0.
 *
 * Shards and fences are explained in store/nodes/shards.h. A lane is created under the fence that
 * its shard has at that moment and puts that fence on every outcome. The store commits an outcome
 * only while the shard still has that fence. What becomes of an attempt that is under way when the
 * lease ends: delivery/dispatcher_attempt.c.
 *
 * Where accounts are split over several clusters (store/clusters/), each cluster has its own
 * shards, nodes and leases. A question about a lane then goes to the leases of the lane's
 * cluster. */
#pragma once

#include "base/arena.h"
#include "base/executor.h"
#include "domain/event.h"
#include "store/nodes/shards.h"

#include <stdatomic.h>

struct leases {
    /* Set for several clusters only: `of` returns the leases of the lane's cluster, `fresh` whether
     * this process receives other processes' changes; then no other member means anything. NULL:
     * these are the only leases. */
    struct leases *(*of)(struct leases *l, lane_no lane);
    bool (*fresh)(struct leases *l, int64_t mono_ms);
    /* By shard: the fence under which lanes exist and exchanges start; 0: the shard is not held
     * here, or is about to be given up. */
    atomic_llong fence[SHARDS];
    /* By shard: exchanges under way, or with an outcome that is not durable yet. A shard is given
     * up only when this is 0. */
    atomic_int busy[SHARDS];
    /* the end of the leases: no exchange starts after it; a renewal moves it */
    atomic_llong until_mono_ms;
    /* Until when the last look at other processes' changes lasts: no request is written after it,
     * so that a process that was stopped looks before it sends. A process that is alone has this
     * bound, too: another one may join while it is stopped. */
    atomic_llong looked_until_mono_ms;
    /* Incremented when two looks were further apart than a look lasts, after the changes in between
     * were applied here: an exchange that was begun before knows too little. */
    atomic_uint lapses;
};

static inline uint32_t leases_shard(lane_no lane)
{
    return shard_of_app(lane_app_no(lane));
}

static inline struct leases *leases_of(struct leases *l, lane_no lane)
{
    return l && l->of ? l->of(l, lane) : l;
}

/* The fence of the lane's shard; 0: this process does not hold the shard. */
static inline int64_t leases_fence(struct leases *all, lane_no lane)
{
    struct leases *l = leases_of(all, lane);
    return l ? atomic_load(&l->fence[leases_shard(lane)]) : 0;
}

static inline bool leases_have(struct leases *l, lane_no lane)
{
    return !l || leases_fence(l, lane) != 0;
}

/* True if the lane was created under a fence that its shard no longer has. */
static inline bool leases_lost(struct leases *l, lane_no lane, int64_t fence)
{
    return l && leases_fence(l, lane) != fence;
}

/* True until the leases end. `l` is of one cluster: see leases_of. */
static inline bool leases_last(struct leases *l, int64_t mono_ms)
{
    return !l || mono_ms < atomic_load(&l->until_mono_ms);
}

/* Until when requests may be written: the leases last, and so does the last look. `l` is of one
 * cluster, too. */
static inline int64_t leases_end_mono_ms(struct leases *l)
{
    int64_t until = atomic_load(&l->until_mono_ms), looked = atomic_load(&l->looked_until_mono_ms);
    return until < looked ? until : looked;
}

/* True while exchanges may start, by the time of the tick. It only avoids starts in vain: whether a
 * request may be written is decided right before (delivery/dispatcher_may_send.c). */
static inline bool leases_run(struct leases *l, int64_t mono_ms)
{
    return !l || mono_ms < leases_end_mono_ms(l);
}

/* True while this process receives the changes of other processes. Without them it cannot tell
 * whether a key or a session is still valid. */
#define LEASES_FRESH_MS 10000 /* after the end of the lease */
static inline bool leases_fresh(struct leases *l, int64_t mono_ms)
{
    if (l && l->fresh)
        return l->fresh(l, mono_ms);
    return leases_last(l, mono_ms - LEASES_FRESH_MS);
}

/* Counts the start of an exchange, until leases_end. False: the exchange must not start. It counts
 * first and then reads the fence, and the store clears the fence first and then reads the count, so
 * that no shard is given up in between. */
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

struct leases_published {
    bool any_fence_changed;
    bool gained[SHARDS]; /* shards that have got a fence, or another one */
    int64_t until_before_mono_ms;
};

/* Writes what the node holds into the leases: on one thread, after each look and each act. A shard
 * that drains has no fence, so that no exchange starts in it. The end of the leases is written
 * after the fences. A caller that compares its clock with until_before_mono_ms afterwards notices
 * each thread that has found the leases ended. */
void leases_publish(struct leases *l, const struct member *m, struct leases_published *ret);

/* True in the one process that does what only one process has to do: it holds the first shard (of
 * the first cluster). */
static inline bool leases_first(struct leases *all)
{
    struct leases *l = leases_of(all, 0);
    return !l || atomic_load(&l->fence[0]) != 0;
}

struct lane_backlog; /* store.h */

/* A question to the process that holds an app's shard: the health of the endpoints of that app, of
 * all apps of its account, or of all apps of any account that this process delivers to. */
enum question_scope { QUESTION_APP, QUESTION_ACCOUNT, QUESTION_ALL };

/* Notifications from a shared store, on the store's own threads; they must not block. */
struct store_watcher {
    /* The shards held, their fences or the end of the leases have changed. */
    void (*leases)(struct store_watcher *w);
    /* Callbacks wait in these lanes; another process may have put them there. */
    void (*waiting)(struct store_watcher *w, const struct lane_backlog *lanes, size_t count);
    /* Another process has erased a panelist of the account; what was read before mono_ms may still
     * show the panelist. */
    void (*erased)(struct store_watcher *w, uint32_t account_no, int64_t mono_ms);
    /* The change feed has new rows: store_feed. */
    void (*objects)(struct store_watcher *w);
    /* Another process asks about an app whose shard is held here; the answer goes to
     * store_answer. */
    void (*asked)(struct store_watcher *w, int64_t question, uint32_t app_no,
                  enum question_scope scope);
};

struct store_question {
    struct task done;
    struct executor *reply_to;
    struct arena arena;
    uint32_t app_no;
    enum question_scope scope;
    bool answered;               /* false: no answer came in time */
    struct str answer;           /* the other process's answer; in the arena */
    struct store_question *next; /* the store's, like what follows */
    int64_t id, until_mono_ms;
};
