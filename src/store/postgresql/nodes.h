/* This process as one of the nodes on the database: its lease, its shards, and the other nodes.
 * store/nodes/shards.h decides; this code carries the decisions out.
 *
 * It has a thread and a connection of its own, so that no long work delays a renewal. Once a second
 * one transaction renews the node's lease and reads who holds which shards; if there is something
 * to do, a second transaction releases and claims shards. All times of leases are the
 * database's. Four times a second it looks at other nodes' changes: of erasures it tells at once,
 * the others are read by the control thread. */
#pragma once

#include "store/nodes/process_identity.h"
#include "store/postgresql/connection.h"
#include "store/store.h"
#include "store/store_open.h"

#include <pthread.h>

#define NODE_TRIP_MS 8000 /* longest wait for a renewal: the lease has ended by then */
_Static_assert(NODE_TRIP_MS > NODE_LEASE_MS, "a trip outlasts the lease");
_Static_assert(NODE_OTHERS_BACK_MS >= PG_CONNECT_TIMEOUT_S * 1000 + PG_TRY_AGAIN_MS,
               "others have tried again to connect");

struct pg_nodes {
    struct pg pg;
    char name[NODE_NAME_BYTES + 1], holder[PROCESS_IDENTITY_BYTES];
    struct member member; /* the thread's, and the opener's before the thread starts */
    struct leases leases;
    pthread_mutex_t watching;      /* held while the watcher is called */
    struct store_watcher *watcher; /* may be NULL */
    atomic_bool leaving;
    int64_t erasures_known; /* the revision up to which the watcher knows other nodes' erasures */
    int64_t looked_mono_ms; /* when the last look was sent */
    int64_t lapse_revision; /* of the first look after a lapse; 0: everything up to it is applied */
    /* Shards that were claimed and whose waiting lanes have not been read (rescan). */
    atomic_bool fresh[SHARDS];
    size_t alive_before;
    atomic_llong clock_ahead_ms; /* of the server's, at the last look; see store/numbers.h */
    /* For metrics. */
    atomic_llong alive, held, takeovers, lost, refused, handed_over;
};

struct postgresql_store;

/* Called once, when the store is opened: joins, and claims free shards. False: pg.why says why. */
MUST_CHECK bool pg_nodes_join(struct postgresql_store *s);
/* Called at the end, when everything is recorded: releases all shards and deletes the node. */
void pg_nodes_leave(struct postgresql_store *s);
void *pg_nodes_main(void *arg);

/* --- calls of the watcher, on any of the store's threads -- */
void pg_nodes_watch(struct pg_nodes *n, struct store_watcher *watcher);
void pg_nodes_tell_waiting(struct pg_nodes *n, const struct lane_backlog *lanes, size_t count);
void pg_nodes_tell_erased(struct pg_nodes *n, uint32_t account_no, int64_t mono_ms);
void pg_nodes_tell_objects(struct pg_nodes *n);
void pg_nodes_tell_asked(struct pg_nodes *n, int64_t question, uint32_t app_no,
                         enum question_scope scope);
