/* Accounts split over several PostgreSQL clusters: one store in front of several.
 *
 * The first cluster is the home. It has the partners, apps, clients, keys, people, sessions and the
 * audit log of their changes, besides the events of its own accounts. Each other cluster has all
 * events of its accounts with everything that follows from them, and the audit log of actions on
 * them. The partner's document names its cluster for good, and the caller passes it on
 * (store_place). Only the operations in fanout.c span clusters. Each cluster has its own nodes,
 * shards and leases, so one that is down does not hold up the others.
 *
 * All clusters have the same hash secret, which shows that they belong together. Each has its
 * number in table meta, so a configuration that lists them in another order is refused. The home
 * has the id of each other cluster's store, so a database that was made anew, or another one, is
 * never used in a cluster's place (postgresql/cluster_record.h). */
#pragma once

#include "store/clusters/map.h"
#include "store/queue.h"
#include "store/store_open.h"

#include <stdatomic.h>

#define CLUSTERS_MAGIC 0xC1057E25u

struct clusters;
struct cluster_request; /* the part of a request that goes to one cluster */

struct part {
    struct clusters *all;
    uint32_t index;
    struct store *_Atomic store; /* NULL: it could not be opened yet; never NULL for the home */
    struct store_watcher watcher;
    struct owed_sink sink;
    atomic_bool feed_wanted; /* the keeper is to read the cluster's change log */
    struct queue to_keeper;
    pthread_t keeper;
    /* used by the keeper's thread only */
    int64_t open_mono_ms;
    char *why_away;   /* as logged last; NULL: never */
    long long marked; /* the highest home revision that this cluster's mark is known to have */
};

struct clusters {
    struct store store;
    uint32_t magic;
    struct clusters_store_options options; /* the URIs are copies */
    struct store_bounds bounds;            /* as last set; guarded by `opening` */
    char *uris[CLUSTERS_MOST];
    struct part parts[CLUSTERS_MOST];
    size_t count;
    struct cluster_map *accounts, *apps;
    struct leases leases; /* asks the leases of the lane's cluster */
    struct leases closed; /* for a cluster that is not open: holds no shard */
    struct owed_sink *sink;
    struct store_watcher *_Atomic watcher;
    pthread_mutex_t opening; /* held while a cluster is opened late or the watcher changes */
    /* Revisions of the home: the latest that this node has written, the latest that a mark of
     * another node names, and the latest that this node has read. */
    atomic_llong changed, told, heard;
    bool started;
    atomic_bool stopping;
    atomic_llong split_bytes;      /* of unfinished requests with events of several clusters */
    pthread_mutex_t lock;          /* guards the members below */
    struct cluster_request *again; /* parts of requests that must be submitted again */
    bool keeper_over;              /* no keeper submits them again any more */
    struct lane_backlog *unrouted; /* waiting lanes of apps that are not known yet */
    size_t unrouted_count, unrouted_capacity;
};

static inline struct clusters *clusters_of(struct store *s)
{
    struct clusters *c = CONTAINER_OF(s, struct clusters, store);
    CHECK_MAGIC(c, CLUSTERS_MAGIC);
    return c;
}

static inline struct store *clusters_home(struct clusters *c)
{
    return atomic_load(&c->parts[0].store);
}

/* The store of a cluster. NULL: the cluster is down, ask later. */
struct store *clusters_reach(struct clusters *c, uint32_t index);
/* An executor without a thread: runs a task at once on the thread that posts it, even two at a
 * time. Only for tasks that count and pass on. */
extern struct executor clusters_here;

/* fanout.c: operations that may concern several clusters */
void clusters_submit(struct clusters *c, struct intake_batch *batch);
void clusters_list_objects(struct clusters *c, struct object_list *list);
void clusters_check_books(struct clusters *c, struct books_check *check);
enum store_refusal clusters_get_refusal(struct store *s);
void clusters_get_numbers(struct store *s, struct store_numbers *ret);
size_t clusters_get_states(struct store *s, struct cluster_state *ret);
void cluster_request_submit(struct cluster_request *p);
struct cluster_request *cluster_request_next(const struct cluster_request *p);
/* the list with p in front */
struct cluster_request *cluster_request_push(struct cluster_request *p,
                                             struct cluster_request *list);

/* cluster_keeper.c: changes in the home, late clusters, resubmitted requests */
void clusters_change_object(struct clusters *c, struct object_change *change);
void clusters_feed(struct clusters *c, struct object_feed *feed);
void clusters_watch(struct store *s, struct store_watcher *watcher);
bool clusters_fresh(struct leases *l, int64_t mono_ms);
void clusters_wake_keepers(struct clusters *c);
void clusters_submit_again(struct clusters *c, struct cluster_request *p);
void *clusters_keeper_main(void *part);
void clusters_init_part(struct clusters *c, uint32_t index);
/* Logs why a cluster could not be opened, once for each reason. */
void clusters_note_away(struct part *p, const char *why);
/* Opens a cluster. False: *ret_why says why. */
MUST_CHECK bool clusters_open_part(struct clusters *c, uint32_t index, char **ret_why);

/* unrouted.c: waiting lanes and callbacks as a cluster announces them, on the cluster's threads */
void clusters_announce_waiting(struct part *p, const struct lane_backlog *lanes, size_t count);
void clusters_owed(struct owed_sink *sink, struct callback **callbacks, size_t count);
/* the app has been placed; any thread */
void clusters_app_known(struct clusters *c, uint32_t app_no);
void clusters_retry_unrouted(
    struct clusters *c); /* announces the lanes whose apps are known by now */
