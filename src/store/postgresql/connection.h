/* One connection to PostgreSQL, used by one thread: transactions as pipelines.
 *
 * A trip is: statements put into the pipeline by pg_query, then pg_sync, which sends them, waits
 * for all of their results and returns how it went. Statements of one trip cost one round trip
 * together. Every transaction begins with pg_begin, which also sets what the session may not keep:
 * behind PgBouncer in transaction mode the next transaction has another server connection. So there
 * are no session settings, no LISTEN and no advisory locks anywhere, and names of statements only
 * where the server is found to be asked directly (kept.h).
 *
 * Nothing here is retried: how a trip ended is a pg_fate (sqlstate.h). A name that does not hold
 * (kept.h) passes, too. */
#pragma once

#include "store/postgresql/arrays.h"
#include "store/postgresql/hosts.h"
#include "store/postgresql/kept.h"
#include "store/postgresql/refusals.h"

#include <libpq-fe.h>

/* Whatever is done for each period of events fits into one trip: 30 days each, of 11 years. */
#define PG_STATEMENTS_MOST 160
/* The server ends a statement after this; whoever waits longer for a trip takes the connection for
 * lost. Locks are held for milliseconds, so who waits longer for one gives way and tries again. */
#define PG_STATEMENT_TIMEOUT_MS 30000
#define PG_LOCK_TIMEOUT_MS 5000
#define PG_TRIP_TIMEOUT_MS 40000
#define PG_SCAN_TIMEOUT_MS 600000

typedef void (*pg_row_visitor)(void *context, const PGresult *row);

struct pg {
    const char *uri;        /* the opener's */
    const char *server;     /* what it must be, unless the URI says: target_session_attrs */
    struct pg_hosts *hosts; /* the store's: what its connections know of servers; NULL: nothing */
    int host;               /* of hosts: where the connection is */
    int64_t trip_ms;        /* after so long a trip's answers are not waited for: PG_LOST */
    PGconn *connection;
    bool in_transaction;
    bool writes;          /* the transaction may */
    bool committing;      /* since pg_begin a COMMIT was put in: lost is then perhaps done */
    bool commit_refused;  /* by an error of its own: whatever stands between may have lost it */
    bool standby_skipped; /* it was carried out before the standby it waited for had it */
    struct buf why;       /* of the last trip that was not fine */
    char sqlstate[SQLSTATE_BYTES]; /* of the server's last error; empty: none yet */
    struct pg_refusals *refusals;  /* where they are noted; NULL: nowhere */
    struct pg_args args;
    struct pg_kept kept;
    PGresult *results[PG_STATEMENTS_MOST];
    struct {
        struct pg_kept_one *one;
        uint32_t number;
        enum kept_step step;
    } names[PG_STATEMENTS_MOST]; /* that statements of the trip give before they are carried out */
    int sent;                    /* statements of the trip under way */
    int stream;                  /* which of them has its rows visited one by one; -1: none */
    pg_row_visitor visit;
    void *context;
};

void pg_init(struct pg *pg, const char *uri);
void pg_close(struct pg *pg); /* what was under way is rolled back */
/* Connects where there is no connection. False: *why of it is a sentence. Blocking, seconds. */
MUST_CHECK bool pg_connect(struct pg *pg);

/* The arguments of the next statement, to be filled in. */
static inline struct pg_args *pg_args(struct pg *pg)
{
    args_clear(&pg->args);
    return &pg->args;
}
/* Puts a statement with the arguments of pg_args into the pipeline; returns which it is. */
int pg_query(struct pg *pg, const char *sql);
int pg_exec(struct pg *pg, const char *sql); /* without arguments */
/* The same as pg_query, for what is asked all the time: the server keeps how, where it can. The
 * text is one of a few. */
int pg_query_kept(struct pg *pg, const char *sql);
int pg_query_kept_f(struct pg *pg, const char *fmt, ...) PRINTF_LIKE(2, 3);
int pg_exec_f(struct pg *pg, const char *fmt, ...) PRINTF_LIKE(2, 3);
int pg_query_f(struct pg *pg, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* BEGIN and its settings. */
void pg_begin(struct pg *pg, bool read_only);
/* One that writes, whose plans are those that are kept: good for whatever the arguments are. */
void pg_begin_kept(struct pg *pg);
/* Reads what was committed at its first statement: for what one answer shows of several. */
void pg_begin_snapshot(struct pg *pg);
void pg_commit(struct pg *pg);    /* COMMIT: then pg_sync */
void pg_take_long(struct pg *pg); /* statements of this transaction may, PG_SCAN_TIMEOUT_MS */
/* The rows of the statement put in last are visited as they come and not kept. */
void pg_visit(struct pg *pg, pg_row_visitor visit, void *context);
MUST_CHECK enum pg_fate pg_sync(struct pg *pg);
/* A whole trip that reads: for the statements put in since pg_begin. */
MUST_CHECK enum pg_fate pg_end_read(struct pg *pg);
/* Ends a transaction that is not to be committed. */
void pg_rollback(struct pg *pg);

/* Results of the last trip; valid until the next one is begun. */
static inline const PGresult *pg_result(const struct pg *pg, int which)
{
    ASSERT(which >= 0 && which < PG_STATEMENTS_MOST && pg->results[which]);
    return pg->results[which];
}
int64_t pg_affected(const PGresult *r); /* rows that a statement has changed */
bool pg_is_null(const PGresult *r, int row, int column);
int64_t pg_int(const PGresult *r, int row, int column);    /* any integer or bool; NULL: 0 */
struct str pg_str(const PGresult *r, int row, int column); /* NULL: absent */
__int128 pg_money(const PGresult *r, int row, int column); /* numeric cast to text */
