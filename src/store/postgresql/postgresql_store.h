/* The store on PostgreSQL: its threads, and the state they share. Each thread waits on a connection
 * of its own; the daemon's loops never wait.
 *
 *   submit, objects, resend, erase --> changes thread --> one transaction per group --> the asker
 *   record -------------------------> outcomes thread --> one transaction per group --> the asker
 *   page ---------------------------> pages thread ----> the asker
 *   report, get, list, ... ---------> two reads threads ----> the asker
 *   intraday, statement, count, ... -> two scans threads ----> the asker
 *   (periodically)                    keeper: numbers, handed over lanes, partitions
 *   (every second)                    nodes: the lease and the shards of this node
 *   (twice a second)                  replica, if there is one: how far behind it is
 *
 * No state that decides is kept in memory between transactions: a decision reads what it needs
 * under locks that hold until the commit (docs/decisions/postgresql-store.md). */
#pragma once

#include "store/postgresql/cluster_look.h"
#include "store/postgresql/nodes.h"
#include "store/postgresql/partitions.h"
#include "store/postgresql/pg_numbers.h"
#include "store/postgresql/pg_schema.h"
#include "store/postgresql/questions.h"
#include "store/postgresql/row_changes.h"
#include "store/store_open.h"
#include "store/store_thread.h"

#include <stdatomic.h>

#define POSTGRESQL_STORE_MAGIC 0x905763E5u

/* How long a request waits for the database before it is refused as busy. */
#define PG_PATIENCE_MS 3000
#define PG_RETRY_MS 100

/* What the keeper last saw of the cluster. */
struct pg_cluster_watch {
    pthread_mutex_t mutex; /* guards `seen` */
    struct cluster_state seen;
    int64_t due_mono_ms, follower_due_mono_ms; /* the keeper's */
};

/* The private state of a thread that writes. */
struct pg_writer {
    struct pg pg;
    struct pg_partitions partitions;
    struct changes changes;
    struct arena scratch;            /* for the current group */
    struct pg_table table, handover; /* handover: rows for other nodes' lanes */
    int64_t handed_over;             /* how many of those rows the current try writes */
    struct attempt_packer packer;
    struct callback **owed; /* for the sink, after the commit */
    size_t owed_count, owed_capacity;
    int64_t asked_us;      /* of the first request in the current group */
    int64_t since_mono_ms; /* when the current try began */
    int64_t weight;        /* number of its events or outcomes */
    bool is_part;          /* the group is part of one that was refused as a whole */
    bool unknown;          /* the commit of the current group may have happened */
    /* the try only finds out whether it has, and writes nothing; PG_ABSENT: it has not */
    bool only_looks;
    /* the revision of a change or the number of a resend, assigned by an earlier try; 0: none
     * yet */
    int64_t own_no;
};

/* A thread that reads, and its connection. There are two for short reads and two for scans. An
 * account uses one of two at a time, so its reads do not delay those of other accounts. */
#define PG_READERS QUEUE_TAKERS
struct pg_reader {
    struct postgresql_store *store;
    size_t number; /* 0 or 1 */
    bool is_scans;
    struct pg pg;
};

struct pg_replica;
#define PG_THREADS (5 + 2 * PG_READERS) /* without the replica's */
struct postgresql_store {
    struct store store; /* the first member: its magic is the contract's */
    uint32_t magic;
    struct env *env;
    char *uri;
    struct pg_hosts hosts;
    struct shared_retention retention;
    atomic_bool house_asked;     /* the keeper is to drop old partitions at once */
    struct pg_identity identity; /* of the database, with the secret of all hashes */
    /* Of the first cluster: the others' records, each used by the thread that opens it. */
    struct pg_store_id clusters[CLUSTERS_MOST];
    struct pg_nodes nodes;
    struct pg_questions questions;
    struct pg_replica *replica;  /* may be NULL */
    atomic_llong revision_known; /* the last revision of the change log that was read */
    /* the last one whose changes the reader has applied */
    atomic_llong revision_applied;
    struct owed_sink *sink;
    struct pg_writer change_writer, outcome_writer;
    struct pg pages, keeper;
    struct pg_reader reads[PG_READERS], scans[PG_READERS];
    struct queue to_changes, to_outcomes, to_pages, to_reads, to_scans, to_keeper, to_nodes, nap;
    /* requests that the changes thread has taken from its queue and not begun */
    struct request_list changes_todo;
    struct store_thread threads[PG_THREADS];
    bool started;
    atomic_llong give_up_mono_ms; /* when waiting for the database ends during a stop; 0: no stop */
    struct pg_numbers numbers;
    struct pg_cluster_watch watch;
};

static inline struct postgresql_store *postgresql_store_of(struct store *s)
{
    struct postgresql_store *store = CONTAINER_OF(s, struct postgresql_store, store);
    CHECK_MAGIC(store, POSTGRESQL_STORE_MAGIC);
    return store;
}

/* Sets up a connection to the store's database: it works in no other one. */
void pg_store_init_connection(struct postgresql_store *s, struct pg *pg);
