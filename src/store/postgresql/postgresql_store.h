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
#include "store/postgresql/disk_room.h"
#include "store/postgresql/partitions.h"
#include "store/postgresql/nodes.h"
#include "store/postgresql/pg_schema.h"
#include "store/postgresql/questions.h"
#include "store/postgresql/replica.h"
#include "store/postgresql/row_changes.h"
#include "store/store_open.h"
#include "store/store_thread.h"

#include <stdatomic.h>

#define POSTGRESQL_STORE_MAGIC 0x905763E5u

/* A group is closed when it has this many; a request is never split between groups. */
#define PG_GROUP_EVENTS 4096u
#define PG_GROUP_OUTCOMES 2048u
/* A group with fewer outcomes waits for more, at most so long; of a node that is alone only if it
 * has so many that the node is busy. */
#define PG_GROUP_OUTCOMES_ENOUGH 512u
#define PG_GROUP_OUTCOMES_OF_BUSY 64u
#define PG_GATHER_MOST_US 50000
#define PG_GROUP_PAGED 4096u /* bound on the callbacks of pages read together */
/* How long a request waits for the database before it is refused as busy. */
#define PG_PATIENCE_MS 3000
#define PG_RETRY_MS 100

struct pg_numbers {         /* pg_numbers.c */
    pthread_mutex_t mutex;  /* guards adding to the four counters, and reading the totals */
    int under_way;          /* writing transactions */
    int64_t under_way_most; /* upper bound of the events and outcomes in them */
    uint64_t begun;
    atomic_llong accepted, pending, delivered, dead;
    atomic_llong oldest_pending_ms; /* read by the keeper */
    atomic_llong commits, last_accepted_ms, retention_clock_ms;
    struct timing timings[STORE_TIMINGS];
    atomic_bool away; /* the database cannot be written now */
    struct pg_room room;
    struct pg_refusals refusals;
    atomic_llong set_aside; /* outcomes that wait because the database refused them */
};

/* What the keeper last saw of the cluster. */
struct pg_cluster_watch {
    pthread_mutex_t mutex; /* guards `seen` */
    struct cluster_state seen;
    int64_t due_mono_ms, follower_due_mono_ms; /* the keeper's */
};

/* Events to accept in one transaction. */
struct pg_intake_group {
    const struct request_list *batches;
    const bool *left_out; /* items to leave out of its only batch; NULL: none */
    bool is_trial; /* the transaction is rolled back: it only tells whether it would succeed */
};

/* An outcome, and the request that it came with. */
struct pg_outcome {
    struct outcome *outcome;
    struct pg_outcomes_asked *asked;
};

struct pg_outcome_slice {
    const struct pg_outcome *items;
    size_t count;
    bool was_tried; /* an earlier try may have recorded it, or failed because of what is there */
};

/* Bounds on finding out which part of a group the database refuses. */
#define PG_ISOLATION_TRIES 64
#define PG_ISOLATION_MS 10000
struct pg_isolation {
    int tries;
    int64_t since_mono_ms;
};

static inline bool pg_isolation_goes_on(struct pg_isolation *i)
{
    int64_t now = env_mono_ms(env_real());
    if (i->tries++ == 0)
        i->since_mono_ms = now;
    return i->tries <= PG_ISOLATION_TRIES && now - i->since_mono_ms < PG_ISOLATION_MS;
}

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

/* transaction_retry.c: runs a transaction until it is done, refused or hopeless */
typedef enum pg_fate (*pg_work)(struct postgresql_store *s, struct pg *pg, void *what);
/* STORE_OK; STORE_REFUSED: the database refused it; STORE_BUSY: the database is down and may_refuse
 * is set, nothing was stored; STORE_FAILED. */
enum store_status pg_try_write(struct postgresql_store *s, struct pg_writer *writer, pg_work work,
                               void *what, bool may_refuse);
enum store_status pg_try_read(struct postgresql_store *s, struct pg *pg, pg_work work, void *what);
/* As pg_connect, for periodic work. Fails at once if the daemon is stopping, its patience
 * (PG_STOP_PATIENCE_MS) is over, and the database is away. */
MUST_CHECK bool pg_store_connect(struct postgresql_store *s, struct pg *pg);
void pg_store_note_away(struct postgresql_store *s, const struct pg *pg, bool away);
/* Commits, and counts the commit. */
enum pg_fate pg_sync_commit(struct postgresql_store *s, struct pg *pg);
/* Keeps the callback for the sink until the commit. After a commit in doubt its lane looks into the
 * database: that commit may have failed, and another node may have done the same under the same
 * number, handed the callback out, and delivered it. */
void pg_writer_owe(struct pg_writer *writer, struct callback *c);
void pg_writer_drop_owed(struct pg_writer *writer);
void pg_writer_hand_over(struct postgresql_store *s, struct pg_writer *writer);

/* pg_numbers.c: around a transaction that writes at most so many events or outcomes; added NULL:
 * nothing was committed, or the commit is in doubt */
void pg_numbers_begin(struct pg_numbers *n, int64_t most);
void pg_numbers_end(struct pg_numbers *n, int64_t most, const struct pg_counts *added);
/* Around a read of the totals: the mark tells whether a transaction was under way meanwhile. */
uint64_t pg_numbers_look(struct pg_numbers *n);
void pg_numbers_looked(struct pg_numbers *n, uint64_t mark, const struct pg_counts *seen);

/* pg_intake.c: the batches of one group; fills in verdicts and the writer's owed callbacks */
enum pg_fate pg_take_in(struct postgresql_store *s, struct pg *pg, void *intake_group);
/* outcomes.c */
enum pg_fate pg_record(struct postgresql_store *s, struct pg *pg, void *outcome_slice);
/* commands.c */
enum pg_fate pg_change_object(struct postgresql_store *s, struct pg *pg, void *object_change);
enum pg_fate pg_resend(struct postgresql_store *s, struct pg *pg, void *what);
enum pg_fate pg_erase(struct postgresql_store *s, struct pg *pg, void *what);

/* pg_pages.c, pg_reads.c, pg_scans.c */
/* The requests must be all brief, or none. */
enum pg_fate pg_read_pages(struct postgresql_store *s, struct pg *pg, void *request_list);
enum pg_fate pg_read_report(struct postgresql_store *s, struct pg *pg, void *report_query);
enum pg_fate pg_read_callback(struct postgresql_store *s, struct pg *pg, void *callback_get);
enum pg_fate pg_read_list(struct postgresql_store *s, struct pg *pg, void *callback_list);
enum pg_fate pg_read_objects(struct postgresql_store *s, struct pg *pg, void *object_list);
enum pg_fate pg_read_delivery_stats(struct postgresql_store *s, struct pg *pg, void *query);
enum pg_fate pg_read_intraday(struct postgresql_store *s, struct pg *pg, void *intraday_query);
enum pg_fate pg_read_statement(struct postgresql_store *s, struct pg *pg, void *statement_query);
enum pg_fate pg_read_count(struct postgresql_store *s, struct pg *pg, void *callback_count);
enum pg_fate pg_read_books(struct postgresql_store *s, struct pg *pg, void *books_check);
enum pg_fate pg_read_change_log(struct postgresql_store *s, struct pg *pg, void *object_feed);
/* waiting.c */
enum pg_fate pg_read_waiting(struct postgresql_store *s, struct pg *pg, void *lane_waiting);

/* changes_thread.c */
void *pg_changes_main(void *arg);
void pg_changes_refuse_old(struct postgresql_store *s); /* on the changes thread */
/* outcomes_thread.c */
void *pg_outcomes_main(void *arg);
/* reader_threads.c */
void *pg_pages_main(void *arg);
void *pg_reader_main(void *arg); /* arg: a struct pg_reader */
/* pg_keeper.c */
void *pg_keeper_main(void *arg);
/* reads the numbers */
MUST_CHECK enum pg_fate pg_keeper_look(struct postgresql_store *s, struct pg *pg);
