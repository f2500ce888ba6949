/* This process as one of the nodes on the database: its lease, its shards, and who else is there.
 * The decisions are store/nodes/shards.h's; here they are made true.
 *
 * A thread with a connection of its own, so that nothing that takes long holds up a renewal: once a
 * second one transaction renews the node's lease and reads who has what, and where something is to
 * be done a second one releases and claims. All times of leases are the database's. */
#pragma once

#include "store/nodes/process_identity.h"
#include "store/postgresql/connection.h"
#include "store/store.h"

#include <pthread.h>

#define NODE_NAME_BYTES 64
#define NODE_TRIP_MS 8000 /* a renewal is not waited for any longer: the lease is over by then */

struct pg_nodes {
    struct pg pg;
    char name[NODE_NAME_BYTES + 1], holder[PROCESS_IDENTITY_BYTES];
    struct member member; /* the thread's, and before that the opener's */
    struct leases leases;
    pthread_mutex_t watching;      /* held while the watcher is told something */
    struct store_watcher *watcher; /* NULL: nobody */
    atomic_bool leaving;
    /* Shards that were claimed and whose lanes have not been told of (rescans). */
    atomic_bool fresh[SHARDS];
    size_t alive_before;
    /* For metrics. */
    atomic_llong alive, held, takeovers, lost, refused, handed_over;
};

struct postgresql_store;

/* Once, when the store is opened: joins, and claims what is free. False: *why of the connection. */
MUST_CHECK bool pg_nodes_join(struct postgresql_store *s);
/* At the end, when everything is recorded: releases all and goes. */
void pg_nodes_leave(struct postgresql_store *s);
void *pg_nodes_main(void *arg);

/* --- telling the watcher, on any of the store's threads --- */
void pg_nodes_watch(struct pg_nodes *n, struct store_watcher *watcher);
void pg_nodes_tell_waiting(struct pg_nodes *n, const struct lane_backlog *lanes, size_t count);
void pg_nodes_tell_erased(struct pg_nodes *n, uint32_t account_no);
void pg_nodes_tell_objects(struct pg_nodes *n);
void pg_nodes_tell_asked(struct pg_nodes *n, int64_t question, uint32_t app_no,
                         enum question_scope scope);
