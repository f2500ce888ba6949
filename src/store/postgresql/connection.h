/* One connection to PostgreSQL, used by one thread: transactions as pipelines.
 *
 * A trip consists of the statements that pg_query puts into the pipeline, and of pg_sync, which
 * sends them, waits for all results and returns how the trip ended. Statements of one trip cost one
 * round trip together. Every transaction begins with pg_begin, which also sets the session's
 * settings: behind PgBouncer in transaction mode the next transaction has another server
 * connection. So there are no lasting session settings, no LISTEN and no advisory locks, and
 * prepared statements only where the connection is found to be direct (prepared.h).
 *
 * Nothing is retried here: a trip ends with a pg_fate (sqlstate.h). A prepared statement that the
 * server does not know (prepared.h) counts as PG_NOT_NOW. */
#pragma once

#include "store/postgresql/arrays.h"
#include "store/postgresql/hosts.h"
#include "store/postgresql/identity.h"
#include "store/postgresql/pg_result.h"
#include "store/postgresql/prepared.h"
#include "store/postgresql/refusals.h"

#include <libpq-fe.h>
#include <stdatomic.h>

/* Enough for one statement for each period of events: 30 days each, 11 years. */
#define PG_STATEMENTS_MOST 160
/* The server cancels a statement after PG_STATEMENT_TIMEOUT_MS; a trip that takes longer than
 * PG_TRIP_TIMEOUT_MS means a lost connection. Locks are held for milliseconds, so a longer wait for
 * a lock is cancelled and the transaction tried again. */
#define PG_STATEMENT_TIMEOUT_MS 30000
#define PG_LOCK_TIMEOUT_MS 5000
#define PG_TRIP_TIMEOUT_MS 40000
/* The same two limits of a transaction that calls pg_take_long. */
#define PG_LONG_STATEMENT_TIMEOUT_MS 600000
#define PG_LONG_TRIP_TIMEOUT_MS 610000
/* How long connecting may take, in seconds as libpq wants it. With a trip_ms of at most
 * PG_TRIP_SHORT_MS, and during a stop, it is the short one. */
#define PG_CONNECT_TIMEOUT_S 5
#define PG_CONNECT_SHORT_S 2
#define PG_TRIP_SHORT_MS (PG_CONNECT_SHORT_S * 1000)
/* How long a stop waits for the database, and for a trip that begins later. */
#define PG_STOP_PATIENCE_MS 5000

typedef void (*pg_row_visitor)(void *context, const PGresult *row);

struct pg {
    const char *uri;        /* the opener's */
    const char *server;     /* target_session_attrs, unless the URI sets it */
    struct pg_hosts *hosts; /* what the store's connections know about its servers; may be NULL */
    int host;               /* the index of the connected server */
    const struct pg_identity *identity;  /* the store that a server must have; NULL: any or none */
    int64_t trip_ms, long_trip_ms;       /* a trip that takes longer ends as PG_LOST; */
    bool takes_long;                     /* the second holds behind pg_take_long */
    int64_t began_mono_ms;               /* the current trip */
    const atomic_llong *give_up_mono_ms; /* the store's; NULL: of no store that is told to stop */
    PGconn *connection;
    bool in_transaction;
    bool writes;     /* the transaction may write */
    bool committing; /* a COMMIT was sent since pg_begin */
    /* pg_sync_commit has sent the COMMIT of the current group: if the connection is lost, it may
     * have happened */
    bool group_committing;
    bool commit_refused;  /* COMMIT itself failed: a proxy in between may have lost its result */
    bool standby_skipped; /* the transaction committed without the standby that it waited for */
    struct buf why;       /* the error of the last failed trip */
    char sqlstate[SQLSTATE_BYTES]; /* the server's last error; empty: none yet */
    struct pg_refusals *refusals;  /* counts refusals; may be NULL */
    struct pg_args args;
    struct pg_prepared prepared;
    PGresult *results[PG_STATEMENTS_MOST];
    struct {
        struct pg_prepared_statement *one;
        uint32_t number;
        enum prepare_step step;
    } names[PG_STATEMENTS_MOST]; /* statements that are prepared in this trip before they run */
    int sent;                    /* number of statements in this trip */
    int stream;                  /* the statement whose rows are visited one by one; -1: none */
    pg_row_visitor visit;
    void *context;
};

/* Clears the arguments of the next statement, to be filled in. */
static inline struct pg_args *pg_args(struct pg *pg)
{
    args_clear(&pg->args);
    return &pg->args;
}
/* Puts a statement with the arguments of pg_args into the pipeline; returns its index. */
int pg_query(struct pg *pg, const char *sql);
int pg_exec(struct pg *pg, const char *sql); /* without arguments */
/* As pg_query, for frequent statements: the server keeps their plans where it can. There must be
 * few different texts. */
int pg_query_prepared(struct pg *pg, const char *sql);
int pg_query_prepared_f(struct pg *pg, const char *fmt, ...) PRINTF_LIKE(2, 3);
int pg_exec_f(struct pg *pg, const char *fmt, ...) PRINTF_LIKE(2, 3);
int pg_query_f(struct pg *pg, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* As pg_query_prepared, with a table's rows as arguments; without rows it does nothing. */
void pg_query_table(struct pg *pg, const struct pg_table *t, const char *sql);
/* BEGIN and the settings. */
void pg_begin(struct pg *pg, bool read_only);
/* A transaction that writes and uses generic plans. */
void pg_begin_generic(struct pg *pg);
/* A transaction that reads one snapshot, for an answer that comes from several statements. */
void pg_begin_snapshot(struct pg *pg);
void pg_commit(struct pg *pg); /* puts COMMIT in; pg_sync follows */
/* For a scan of many rows: raises the time limits of this transaction, and lets the planner choose
 * any plan. */
void pg_take_long(struct pg *pg);
/* Visits the rows of the last statement as they arrive instead of storing them. */
void pg_visit(struct pg *pg, pg_row_visitor visit, void *context);
MUST_CHECK enum pg_fate pg_sync(struct pg *pg);
/* Ends a transaction that only reads: sends the statements since pg_begin. */
MUST_CHECK enum pg_fate pg_end_read(struct pg *pg);
/* Ends a transaction without a commit. */
void pg_rollback(struct pg *pg);

/* Results of the last trip; valid until the next one begins. */
static inline const PGresult *pg_result(const struct pg *pg, int which)
{
    ASSERT(which >= 0 && which < PG_STATEMENTS_MOST && pg->results[which]);
    return pg->results[which];
}
