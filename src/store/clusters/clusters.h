/* Accounts split over several PostgreSQL clusters: one store in front of several.
 *
 * The first cluster is the home: it has partners, apps, clients, keys, people, sessions and the
 * audit log of their changes, besides the events of its own accounts. Each other one has all of the
 * events of its accounts, whatever becomes of them, and the audit log of what is done to them.
 * Which cluster has an account is said by its partner's document and never changes; the caller
 * tells (store_place). Nothing spans two clusters but what is said in spread.c, and each has its
 * own nodes, shards and leases: one that is away holds up nothing of the others.
 *
 * All clusters have the same key of hashes, which shows that they belong together, and each its
 * number in table meta: so they cannot be named in another order. */
#pragma once

#include "store/clusters/map.h"
#include "store/queue.h"
#include "store/store_open.h"

#include <stdatomic.h>

#define CLUSTERS_MAGIC 0xC1057E25u

struct clusters;
struct piece; /* of a request that concerns several */

struct part {
    struct clusters *all;
    uint32_t index;
    struct store *_Atomic store; /* NULL: it could not be opened yet; never of the home */
    struct store_watcher watcher;
    struct owed_sink sink;
    atomic_bool feed_wanted; /* the keeper's to do */
    struct queue to_keeper;
    pthread_t keeper;
    /* The keeper's own. */
    int64_t open_mono_ms;
    long long marked; /* the highest revision of the home that is known to stand there */
};

struct clusters {
    struct store store;
    uint32_t magic;
    struct clusters_store_options options; /* the URIs are copies */
    struct store_bounds bounds;            /* as last set; behind `opening` */
    char *uris[CLUSTERS_MOST];
    struct part parts[CLUSTERS_MOST];
    size_t count;
    struct hash_secret secret;
    struct cluster_map *accounts, *apps;
    struct leases leases; /* finds the right ones */
    struct leases closed; /* of one that is not open: nothing is held */
    struct owed_sink *sink;
    struct store_watcher *_Atomic watcher;
    pthread_mutex_t opening; /* held while one is opened late, or the watcher changes */
    /* Revisions of the home: that this node has made, that others were said to have made, and up to
     * which it was read. */
    atomic_llong changed, told, heard;
    bool started;
    atomic_bool stopping;
    atomic_llong split_bytes;   /* of requests with events of several that are not done */
    pthread_mutex_t lock;       /* of what follows */
    struct piece *again;        /* parts of requests that must be tried again */
    bool keeper_over;           /* nobody tries any more */
    struct lane_backlog *aside; /* of apps that are not known yet */
    size_t aside_count, aside_capacity;
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

/* The store of a cluster that can be asked now; NULL: it is away, ask later. */
struct store *clusters_reach(struct clusters *c, uint32_t index);
/* Has no thread: runs a task at once on the one that posts it, even two at a time. For what only
 * counts and passes on. */
extern struct executor clusters_here;

/* spread.c: what may concern several */
void clusters_submit(struct clusters *c, struct intake_batch *batch);
void clusters_list_objects(struct clusters *c, struct object_list *list);
void clusters_check_books(struct clusters *c, struct books_check *check);
void clusters_get_numbers(struct store *s, struct store_numbers *ret);
void piece_submit(struct piece *p);
struct piece *piece_next(const struct piece *p);
struct piece *piece_before(struct piece *p, struct piece *list); /* the list with p in front */

/* keeper.c: what the home tells by way of the others, and whoever is late */
void clusters_change_object(struct clusters *c, struct object_change *change);
void clusters_feed(struct clusters *c, struct object_feed *feed);
void clusters_watch(struct store *s, struct store_watcher *watcher);
bool clusters_fresh(struct leases *l, int64_t mono_ms);
void clusters_wake_keepers(struct clusters *c);
void clusters_again(struct clusters *c, struct piece *p);
void *clusters_keeper_main(void *part);
void clusters_init_part(struct clusters *c, uint32_t index);
/* Opens it. False: *ret_why. */
MUST_CHECK bool clusters_open_part(struct clusters *c, uint32_t index, char **ret_why);

/* aside.c: what a cluster tells of apps that this node has not heard of yet, on its threads */
void clusters_tell_waiting(struct part *p, const struct lane_backlog *lanes, size_t count);
void clusters_owed(struct owed_sink *sink, struct callback **callbacks, size_t count);
void clusters_app_known(struct clusters *c, uint32_t app_no); /* placed: on any thread */
void clusters_tell_aside(struct clusters *c);                 /* what is known by now */
