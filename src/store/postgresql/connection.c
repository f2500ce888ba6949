/* libpq in pipeline mode, never blocking inside libpq: sending and receiving alternate, because
 * otherwise a long pipeline and its long answers could wait for each other for ever. */
#include "store/postgresql/connection.h"

#include "base/env.h"
#include "base/log.h"
#include "store/postgresql/pg_connect.h"

#include <poll.h>
#include <stdio.h>

#define LOOK_MS 500 /* how often a wait for an answer checks which server is the primary */

/* --- sending ---------------------------------------------------------------------------------- */

/* Arguments as libpq takes them; results come in binary format. */
struct sent_args {
    Oid types[PG_ARGS_MOST];
    const char *values[PG_ARGS_MOST];
    int lengths[PG_ARGS_MOST], formats[PG_ARGS_MOST];
};

static void point_to(const struct pg_args *a, struct sent_args *ret)
{
    for (int i = 0; i < a->count; i++) {
        bool is_null = a->args[i].length < 0;
        ret->types[i] = a->args[i].type;
        ret->values[i] = is_null ? NULL : a->bytes.p ? a->bytes.p + a->args[i].at : "";
        ret->lengths[i] = is_null ? 0 : a->args[i].length;
        ret->formats[i] = 1;
    }
}

static void make_room(struct pg *pg)
{
    ASSERT(pg->sent < PG_STATEMENTS_MOST);
    if (pg->sent == 0)
        pg_clear_results(pg);
}

int pg_query(struct pg *pg, const char *sql)
{
    struct sent_args a;
    point_to(&pg->args, &a);
    make_room(pg);
    /* an error here shows in pg_sync */
    if (pg->connection)
        (void)PQsendQueryParams(pg->connection, sql, pg->args.count, a.types, a.values, a.lengths,
                                a.formats, 1);
    pg->names[pg->sent].step = PREPARE_NOT;
    return pg->sent++;
}

/* Prepares the statement. DEALLOCATE and Prepare have a result each: take_prepare_results. */
static void prepare(struct pg *pg, const struct pg_prepared_statement *one, enum prepare_step step,
                    const char *sql, const Oid *types)
{
    char name[PG_PREPARED_NAME_BYTES];
    if (step == PREPARE_AGAIN) {
        char drop[PG_PREPARED_NAME_BYTES + 16];
        prepared_old_name(one, name);
        snprintf(drop, sizeof drop, "DEALLOCATE %s", name);
        (void)PQsendQueryParams(pg->connection, drop, 0, NULL, NULL, NULL, NULL, 1);
    }
    prepared_name(one, name);
    if (step != PREPARE_NOT)
        (void)PQsendPrepare(pg->connection, name, sql, pg->args.count, types);
}

int pg_query_prepared(struct pg *pg, const char *sql)
{
    struct pg_prepared_statement *one =
        prepared_is_usable(&pg->prepared) ? prepared_find(&pg->prepared, sql) : NULL;
    struct sent_args a;
    char name[PG_PREPARED_NAME_BYTES];
    if (!one)
        return pg_query(pg, sql);
    point_to(&pg->args, &a);
    make_room(pg);
    pg->names[pg->sent].one = one;
    pg->names[pg->sent].step = prepared_use(one, pg->args.rows, env_mono_ms(env_real()));
    pg->names[pg->sent].number = one->there;
    prepare(pg, one, pg->names[pg->sent].step, sql, a.types);
    prepared_name(one, name);
    (void)PQsendQueryPrepared(pg->connection, name, pg->args.count, a.values, a.lengths, a.formats,
                              1);
    return pg->sent++;
}

int pg_exec(struct pg *pg, const char *sql)
{
    args_clear(&pg->args);
    return pg_query(pg, sql);
}

static int query_v(struct pg *pg, int (*query)(struct pg *pg, const char *sql), const char *fmt,
                   va_list ap)
{
    struct buf sql = {0};
    buf_vprintf(&sql, fmt, ap);
    int which = query(pg, buf_c(&sql));
    buf_free(&sql);
    return which;
}

#define FORMATTED(name, query)                                                                     \
    int name(struct pg *pg, const char *fmt, ...)                                                  \
    {                                                                                              \
        va_list ap;                                                                                \
        va_start(ap, fmt);                                                                         \
        int which = query_v(pg, query, fmt, ap);                                                   \
        va_end(ap);                                                                                \
        return which;                                                                              \
    }
FORMATTED(pg_exec_f, pg_exec)
FORMATTED(pg_query_f, pg_query)
FORMATTED(pg_query_prepared_f, pg_query_prepared)

void pg_query_table(struct pg *pg, const struct pg_table *t, const char *sql)
{
    if (table_rows(t) == 0)
        return;
    args_table(pg_args(pg), t);
    pg_query_prepared(pg, sql);
}

/* Statements look up few of very many rows by their keys. A plan that reads a whole table is never
 * right, but the planner may choose it for a partition without statistics. No key comes twice, so
 * Memoize does not help either. */
#define BY_INDEX(value)                                                                            \
    "set_config('enable_seqscan','" value "',true),set_config('enable_hashjoin','" value           \
    "',true),set_config('enable_mergejoin','" value "',true),set_config('enable_memoize','" value  \
    "',true)"

/* Otherwise the planner would plan anew for each small group, because it assumes ten rows for any
 * generic plan. */
#define GENERIC_PLANS ",set_config('plan_cache_mode','force_generic_plan',true)"

static void begin(struct pg *pg, const char *how, bool writes, bool generic)
{
    ASSERT(pg->sent == 0 && !pg->in_transaction);
    pg->writes = writes;
    pg->in_transaction = true;
    pg->takes_long = false;
    pg->committing = pg->commit_refused = pg->standby_skipped = false;
    pg_exec_f(pg, "BEGIN ISOLATION LEVEL %s", how);
    args_clear(&pg->args);
    /* An acknowledged event must be on disk: a server or role with synchronous_commit=off is
     * overruled; a stricter setting (a standby must confirm) stays. */
    pg_query_prepared_f(
        pg,
        "SELECT set_config('statement_timeout','%d',true),set_config('lock_timeout','%d',true),"
        "set_config('idle_in_transaction_session_timeout','%d',true),"
        "set_config('jit','off',true)," BY_INDEX(
            "off") ",set_config('synchronous_commit',"
                   "CASE current_setting('synchronous_commit') WHEN 'off' THEN 'local'"
                   " ELSE current_setting('synchronous_commit') END,true)%s",
        PG_STATEMENT_TIMEOUT_MS, PG_LOCK_TIMEOUT_MS, PG_LOCK_TIMEOUT_MS,
        generic ? GENERIC_PLANS : "");
}

void pg_begin(struct pg *pg, bool read_only)
{
    begin(pg, read_only ? "READ COMMITTED, READ ONLY" : "READ COMMITTED, READ WRITE", !read_only,
          false);
}

void pg_begin_snapshot(struct pg *pg)
{
    begin(pg, "REPEATABLE READ, READ ONLY", false, false);
}

void pg_begin_generic(struct pg *pg)
{
    begin(pg, "READ COMMITTED, READ WRITE", true, prepared_is_usable(&pg->prepared));
    if (!pg->prepared.is_known)
        pg->prepared.asked_at = pg_exec(pg, "SELECT pg_backend_pid()") + 1;
}

void pg_commit(struct pg *pg)
{
    /* A COMMIT whose wait for a standby is cancelled by a timeout succeeds on this server alone,
     * and would be lost when the standby takes over. */
    if (pg->writes)
        pg_exec(pg, "SET LOCAL statement_timeout=0");
    pg_exec(pg, "COMMIT");
    pg->committing = true;
    pg->in_transaction = false;
}

void pg_take_long(struct pg *pg)
{
    pg_exec_f(pg, "SELECT set_config('statement_timeout','%d',true)," BY_INDEX("on"),
              PG_LONG_STATEMENT_TIMEOUT_MS);
    pg->takes_long = true;
}

void pg_visit(struct pg *pg, pg_row_visitor visit, void *context)
{
    ASSERT(pg->sent > 0 && pg->stream < 0);
    pg->stream = pg->sent - 1;
    pg->visit = visit;
    pg->context = context;
}

/* --- receiving -------------------------------------------------------------------------------- */

static bool stop_is_over(const struct pg *pg, int64_t now_ms)
{
    int64_t at_ms = pg_give_up_mono_ms(pg);
    return at_ms != 0 && now_ms >= at_ms && now_ms - pg->began_mono_ms >= PG_STOP_PATIENCE_MS;
}

/* Waits until a result can be read without blocking. False: the connection is lost. A frozen server
 * keeps its connections open, so the wait also checks whether another server has become the
 * primary. */
static bool wait_for_result(struct pg *pg, int64_t until_mono_ms)
{
    while (PQisBusy(pg->connection)) {
        int rest = PQflush(pg->connection);
        int64_t now_ms = env_mono_ms(env_real()), left_ms = until_mono_ms - now_ms;
        if (rest < 0 || left_ms <= 0 || stop_is_over(pg, now_ms))
            return false;
        if (pg_hosts_moved_from(pg->hosts, pg->host)) {
            pg_set_why(pg, "another server is the primary now");
            return false;
        }
        if (left_ms > LOOK_MS)
            left_ms = LOOK_MS;
        struct pollfd fd = {.fd = PQsocket(pg->connection),
                            .events = (short)(POLLIN | (rest ? POLLOUT : 0))};
        if (fd.fd < 0 || poll(&fd, 1, (int)left_ms) < 0)
            return false;
        if ((fd.revents & (POLLIN | POLLHUP | POLLERR)) && !PQconsumeInput(pg->connection))
            return false;
    }
    return true;
}

static int64_t trip_end_mono_ms(const struct pg *pg)
{
    return env_mono_ms(env_real()) + (pg->takes_long ? pg->long_trip_ms : pg->trip_ms);
}

static enum pg_fate fate_of_error(struct pg *pg, const PGresult *r)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    pg->sqlstate[0] = '\0';
    if (!state)
        return PG_LOST;
    enum pg_fate fate = sqlstate_fate(state);
    snprintf(pg->sqlstate, sizeof pg->sqlstate, "%s", state);
    pg_set_why(pg, PQresultErrorMessage(r));
    if (prepared_is_usable(&pg->prepared) && prepared_is_refused(state)) {
        pg->prepared.is_refused = true;
        log_warning("statement_names_refused",
                    LOG_C("why", PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY)));
        return fate == PG_LOST ? PG_LOST : PG_NOT_NOW;
    }
    if (fate == PG_REFUSED && pg->refusals)
        refusals_note(pg->refusals, state, buf_c(&pg->why));
    return fate;
}

/* Takes the results of one statement, up to the NULL after them. */
static enum pg_fate take_results(struct pg *pg, int which, int64_t until_mono_ms)
{
    enum pg_fate fate = PG_OK;
    if (which == pg->stream && !PQsetSingleRowMode(pg->connection))
        return PG_LOST;
    for (;;) {
        if (!wait_for_result(pg, until_mono_ms))
            return PG_LOST;
        PGresult *r = PQgetResult(pg->connection);
        if (!r)
            return fate;
        ExecStatusType status = PQresultStatus(r);
        if (status == PGRES_FATAL_ERROR) {
            fate = fate_of_error(pg, r);
        } else if (status == PGRES_PIPELINE_ABORTED && fate == PG_OK) {
            fate = PG_NOT_NOW; /* the failed statement's error says why */
        } else if (status == PGRES_SINGLE_TUPLE) {
            pg->visit(pg->context, r);
            until_mono_ms = trip_end_mono_ms(pg);
        }
        if (which < PG_STATEMENTS_MOST && !pg->results[which] && status != PGRES_SINGLE_TUPLE)
            pg->results[which] = r;
        else
            PQclear(r);
    }
}

/* Prepare and DEALLOCATE are not transactional: their effects stay after a rollback. */
static enum pg_fate take_prepare_results(struct pg *pg, int which, int64_t until_mono_ms)
{
    enum prepare_step step = pg->names[which].step;
    enum pg_fate dropped = PG_OK;
    if (step == PREPARE_NOT)
        return PG_OK;
    if (step == PREPARE_AGAIN)
        dropped = take_results(pg, PG_STATEMENTS_MOST, until_mono_ms);
    if (dropped == PG_LOST)
        return dropped;
    enum pg_fate fate = take_results(pg, PG_STATEMENTS_MOST, until_mono_ms);
    prepared_learn(pg->names[which].one, pg->names[which].number, dropped == PG_OK, fate == PG_OK);
    return dropped == PG_OK || fate == PG_LOST ? fate : dropped;
}

static enum pg_fate take_all(struct pg *pg)
{
    pg->began_mono_ms = env_mono_ms(env_real());
    int64_t until = trip_end_mono_ms(pg);
    enum pg_fate first = PG_OK;
    for (int i = 0; i < pg->sent; i++) {
        enum pg_fate fate = take_prepare_results(pg, i, until);
        if (fate == PG_LOST)
            return fate;
        if (first == PG_OK)
            first = fate;
        fate = take_results(pg, i, until);
        if (fate == PG_LOST)
            return fate;
        if (fate == PG_REFUSED && first == PG_OK && pg->committing && i == pg->sent - 1)
            pg->commit_refused = true;
        if (first == PG_OK)
            first = fate;
    }
    if (!wait_for_result(pg, until))
        return PG_LOST;
    PGresult *sync = PQgetResult(pg->connection);
    bool good = PQresultStatus(sync) == PGRES_PIPELINE_SYNC;
    PQclear(sync);
    return good ? first : PG_LOST;
}

/* Learns whether prepared statements work on this connection: prepared.h. */
static void learn_prepared(struct pg *pg, bool is_fine)
{
    struct pg_prepared *prepared = &pg->prepared;
    if (is_fine && prepared->asked_at) {
        prepared->is_known = true;
        prepared->is_direct =
            pg_int(pg_result(pg, prepared->asked_at - 1), 0, 0) == PQbackendPID(pg->connection);
    }
    prepared->asked_at = 0;
}

enum pg_fate pg_sync(struct pg *pg)
{
    enum pg_fate fate = PG_LOST;
    if (pg->connection) /* else it says why there is none */
        buf_clear(&pg->why);
    if (pg->connection && PQpipelineSync(pg->connection))
        fate = take_all(pg);
    learn_prepared(pg, fate == PG_OK);
    if (fate == PG_OK && pg->committing && pg->standby_skipped) {
        fate = PG_LOST;
        pg_set_why(pg, "the wait for the standby was cancelled");
        pg_disconnect(pg);
    }
    if (fate == PG_LOST && pg->connection) {
        const char *why = PQerrorMessage(pg->connection);
        if (*why || pg->why.n == 0)
            pg_set_why(pg, *why ? why : "the database did not answer in time");
    }
    if (fate == PG_LOST)
        pg_disconnect(pg);
    else if (fate != PG_OK)
        /* the transaction is aborted: a COMMIT after the error was not run */
        pg->in_transaction = true;
    pg->sent = 0;
    pg->stream = -1;
    if (fate == PG_NOT_NOW || fate == PG_REFUSED)
        pg_rollback(pg);
    if (fate == PG_REFUSED && sqlstate_is_internal(pg->sqlstate))
        pg_disconnect(pg);
    return fate;
}

enum pg_fate pg_end_read(struct pg *pg)
{
    pg_commit(pg);
    return pg_sync(pg);
}

void pg_rollback(struct pg *pg)
{
    if (!pg->in_transaction)
        return;
    pg->in_transaction = false;
    pg->takes_long = false;
    if (!pg->connection)
        return;
    (void)pg_exec(pg, "ROLLBACK"); /* behind what was not sent yet */
    if (!PQpipelineSync(pg->connection) || take_all(pg) != PG_OK)
        pg_disconnect(pg);
    pg->sent = 0;
}
