/* The store on PostgreSQL: its threads, and what they share. Each thread has a connection of its
 * own and waits on it; the daemon's loops never do.
 *
 *   submit, objects, resend, erase --> changes thread --> one transaction per group --> the asker
 *   record -------------------------> outcomes thread --> one transaction per group --> the asker
 *   page ---------------------------> pages thread ----> the asker
 *   report, get, list, ... ---------> two reads threads ----> the asker
 *   intraday, statement, count, ... -> two scans threads ----> the asker
 *   (now and then)                    keeper: numbers, handed over lanes, partitions
 *   (every second)                    nodes: the lease and the shards of this node
 *   (twice a second)                  replica, if there is one: how far behind it is
 *
 * Nothing that decides is kept in memory from one transaction to the next: what a decision needs is
 * read under the locks that keep it true until the commit (docs/decisions/postgresql-store.md). */
#pragma once

#include "store/postgresql/changes.h"
#include "store/postgresql/nodes.h"
#include "store/postgresql/questions.h"
#include "store/postgresql/replica.h"
#include "store/postgresql/room.h"
#include "store/postgresql/schema.h"
#include "store/queue.h"
#include "store/store_open.h"

#include <stdatomic.h>

#define POSTGRESQL_STORE_MAGIC 0x905763E5u

/* A group is closed when it has one of these; a request is never split between groups. */
#define PG_GROUP_EVENTS 4096u
#define PG_GROUP_OUTCOMES 2048u
/* So many outcomes do not wait for more; fewer do, at most so long. */
#define PG_GROUP_OUTCOMES_ENOUGH 512u
#define PG_GATHER_MOST_US 50000
#define PG_GROUP_PAGED 4096u /* callbacks that its pages may have together */
/* How long what is asked for waits for the database before it is refused as busy. */
#define PG_PATIENCE_MS 3000
#define PG_RETRY_MS 100
/* At the end: for a database that does not answer. */
#define PG_STOP_PATIENCE_MS 5000

struct pg_numbers {         /* numbers.c */
    pthread_mutex_t mutex;  /* for what adds to the four, or looks at the database */
    int under_way;          /* transactions that write */
    int64_t under_way_most; /* events and outcomes that they may add */
    uint64_t begun;
    atomic_llong accepted, pending, delivered, dead;
    atomic_llong oldest_pending_ms; /* the keeper's, read */
    atomic_llong queued_events, queued_bytes, commits, last_accepted_ms, retention_clock_ms;
    struct timing timings[STORE_TIMINGS];
    atomic_llong refused[STORE_REFUSALS];
    atomic_bool away;   /* the database cannot be written at the moment */
    atomic_bool failed; /* the store has stopped */
    struct pg_room room;
    struct pg_refusals refusals;
    atomic_llong set_aside; /* outcomes that the database refuses for now */
};

/* Events to be taken in by one transaction. */
struct pg_intake_group {
    const struct request_list *batches;
    const bool *left_out; /* which items of its only batch are; NULL: none */
    bool is_trial;        /* rolled back: would it be taken? */
};

/* An outcome, and the request that it came with. */
struct pg_outcome {
    struct outcome *outcome;
    struct pg_outcomes_asked *asked;
};

struct pg_outcome_slice {
    const struct pg_outcome *items;
    size_t count;
};

/* How much is spent on finding out what of a group the database refuses. */
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

/* What a thread that writes has for itself. */
struct pg_side {
    struct pg pg;
    struct pg_partitions partitions;
    struct changes changes;
    struct arena scratch;            /* of the group under way */
    struct pg_table table, handover; /* handover: what the group puts into others' lanes */
    struct callback **owed;          /* for the sink, once it is committed */
    size_t owed_count, owed_capacity;
    int64_t asked_us; /* when the first of the group under way was asked for */
    int64_t weight;   /* events or outcomes in it */
    bool is_part;     /* of a group that was refused as a whole */
    bool unknown;     /* the commit of the group under way may have happened */
    bool only_looks;  /* whether it has: nothing is written; PG_ABSENT: it has not */
    int64_t own_no;   /* what such a try has given itself alone: a change its revision, a resend its
                       * number; 0: none yet */
};

/* A thread that reads, and its connection. There are two for short reads and two for scans: as no
 * account has both of them at work, one account's reads delay nobody else's. */
#define PG_READERS QUEUE_TAKERS
struct pg_reader {
    struct postgresql_store *store;
    size_t number; /* of the two */
    bool is_scans;
    struct pg pg;
    pthread_t thread;
};

struct postgresql_store {
    struct store store; /* the first member: its magic is the contract's */
    uint32_t magic;
    struct env *env;
    char *uri;
    struct pg_hosts hosts;
    struct shared_retention retention;
    atomic_llong waiting_most;
    atomic_bool house_asked; /* of the keeper: what is too old is looked for at once */
    struct hash_secret secret;
    struct pg_nodes nodes;
    struct pg_questions questions;
    struct pg_replica *replica;  /* NULL: none */
    atomic_llong revision_known; /* up to where objects are: the feed's */
    struct owed_sink *sink;
    struct pg_side changes, outcomes;
    struct pg pages, keeper;
    struct pg_reader reads[PG_READERS], scans[PG_READERS];
    struct queue to_changes, to_outcomes, to_pages, to_reads, to_scans, to_keeper, to_nodes, nap;
    struct request_list changes_todo; /* the changes thread's: taken from its queue, not begun */
    pthread_t changes_thread, outcomes_thread, pages_thread, keeper_thread, nodes_thread;
    bool started;
    atomic_llong give_up_mono_ms; /* what waits for the database is given up then; 0: never */
    struct pg_numbers numbers;
};

static inline struct postgresql_store *postgresql_store_of(struct store *s)
{
    struct postgresql_store *store = CONTAINER_OF(s, struct postgresql_store, store);
    CHECK_MAGIC(store, POSTGRESQL_STORE_MAGIC);
    return store;
}

/* trying.c: doing a thing until it is done, refused or hopeless */
typedef enum pg_fate (*pg_work)(struct postgresql_store *s, struct pg *pg, void *what);
/* STORE_OK, or STORE_REFUSED by the database, or STORE_BUSY where it may be kept from the database
 * while that is away (nothing of it was done), or STORE_FAILED. */
enum store_status pg_try_write(struct postgresql_store *s, struct pg_side *side, pg_work work,
                               void *what, bool may_refuse);
enum store_status pg_try_read(struct postgresql_store *s, struct pg *pg, pg_work work, void *what);
void pg_store_fail(struct postgresql_store *s, const char *why);
void pg_store_note_away(struct postgresql_store *s, const struct pg *pg, bool away);
/* Commits, and counts it. */
enum pg_fate pg_sync_commit(struct postgresql_store *s, struct pg *pg);
void pg_side_owe(struct pg_side *side, struct callback *c);
void pg_side_drop_owed(struct pg_side *side);
void pg_side_hand_over(struct postgresql_store *s, struct pg_side *side);

/* postgresql_store.c: the batch is no longer queued. */
void pg_intake_ended(struct postgresql_store *s, const struct intake_batch *batch);

/* numbers.c: around a transaction that writes at most so many events or outcomes; added NULL:
 * nothing was committed, or nobody knows */
void pg_numbers_begin(struct pg_numbers *n, int64_t most);
void pg_numbers_end(struct pg_numbers *n, int64_t most, const struct pg_counts *added);
/* Around a look at the database: the mark says whether anything was under way meanwhile. */
uint64_t pg_numbers_look(struct pg_numbers *n);
void pg_numbers_looked(struct pg_numbers *n, uint64_t mark, const struct pg_counts *seen);

/* intake.c: intake batches of one group; verdicts and owed callbacks are filled in */
enum pg_fate pg_take_in(struct postgresql_store *s, struct pg *pg, void *intake_group);
/* outcomes.c */
enum pg_fate pg_record(struct postgresql_store *s, struct pg *pg, void *outcome_slice);
/* commands.c */
enum pg_fate pg_change_object(struct postgresql_store *s, struct pg *pg, void *object_change);
enum pg_fate pg_resend(struct postgresql_store *s, struct pg *pg, void *what);
enum pg_fate pg_erase(struct postgresql_store *s, struct pg *pg, void *what);

/* page.c, reads.c, scans.c */
/* Of one group: all brief, or none. */
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
enum pg_fate pg_read_feed(struct postgresql_store *s, struct pg *pg, void *object_feed);
/* waiting.c */
enum pg_fate pg_read_waiting(struct postgresql_store *s, struct pg *pg, void *lane_waiting);

/* changes_thread.c */
void *pg_changes_main(void *arg);
void pg_changes_refuse_old(struct postgresql_store *s); /* on that thread */
/* outcomes_thread.c */
void *pg_outcomes_main(void *arg);
/* threads.c */
void *pg_pages_main(void *arg);
void *pg_reader_main(void *arg); /* a struct pg_reader */
/* keeper.c */
void *pg_keeper_main(void *arg);
MUST_CHECK enum pg_fate pg_keeper_look(struct postgresql_store *s, struct pg *pg); /* the numbers */
