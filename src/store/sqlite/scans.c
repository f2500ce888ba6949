/* Statements, counts and checks of the books: much is read, and for a statement sorted, which may
 * take seconds for a day of millions.
 *
 * The sort spills to a temporary file (in SQLITE_TMPDIR, /var/tmp or /tmp) when it outgrows this
 * connection's cache, so that memory stays flat whatever the day holds. */
#include "store/sqlite/sqlite_store.h"

#include "base/alloc.h"

#include <stdlib.h>

#include "store/sqlite/accepted.h"
#include "store/sqlite/schema.h"
#include "store/statement.h"

#define SCANS_CACHE_KIB 8192

void scans_configure(struct lookup *l)
{
    sql_exec_f(&l->sql, "PRAGMA cache_size=-%d", SCANS_CACHE_KIB);
    sql_exec(&l->sql, "PRAGMA temp_store=FILE");
}

#define COLUMNS "app_no,event_id,type,reward_decimals,reward_micros,revenue_micros,state"
#define IN_STATEMENT SCHEMA_EVENT_DAY "=?4 AND lane<>0 AND is_test=0"

static enum store_status read_statement(struct lookup *l, struct statement_query *query)
{
    struct range day = accepted_on(&l->sql, query->account_no, query->day);
    struct statement_maker maker;
    statement_begin(&maker, query);
    sqlite3_stmt *s = sql_prepare(
        &l->sql, "SELECT " COLUMNS
                 " FROM event NOT INDEXED WHERE id>=?1 AND id<=?2 AND " SCHEMA_EVENT_IS_ON_TIME
                 " AND " IN_STATEMENT " UNION ALL "
                 "SELECT " COLUMNS " FROM event INDEXED BY event_late"
                 " WHERE id>>40=?3 AND " SCHEMA_EVENT_IS_LATE " AND " IN_STATEMENT
                 " ORDER BY app_no,event_id");
    sql_bind_int(s, 1, (int64_t)day.first);
    sql_bind_int(s, 2, (int64_t)day.last);
    sql_bind_int(s, 3, query->account_no);
    sql_bind_int(s, 4, query->day);
    while (sql_row(&l->sql, s)) {
        struct event e = {
            .app_no = (uint32_t)sql_int(s, 0),
            .event_id = sql_str(s, 1),
            .type = (enum event_type)sql_int(s, 2),
            .reward_decimals = (uint8_t)sql_int(s, 3),
            .reward_micros = sql_int(s, 4),
            .revenue_micros = sql_int(s, 5),
        };
        e.lane = event_lane(e.type);
        statement_add(&maker, &e, (enum callback_state)sql_int(s, 6));
    }
    sql_finalize(s);
    statement_end(&maker);
    return STORE_OK;
}

/* Adds the counts of one state, which come by app_no. */
static void count_state(struct lookup *l, struct callback_count *c, enum callback_state state,
                        struct range range, size_t *capacity)
{
    bool indexed = state != CALLBACK_DELIVERED;
    sqlite3_stmt *s = sql_prepare_f(
        &l->sql,
        "SELECT app_no,count(*) FROM event %s WHERE state=%d AND id>=? AND id<=? AND lane<>0"
        " AND accepted_ms>=? AND accepted_ms<? AND (?=0 OR app_no=?) GROUP BY app_no",
        indexed ? "INDEXED BY event_by_state" : "NOT INDEXED", state);
    sql_bind_int(s, 1, (int64_t)range.first);
    sql_bind_int(s, 2, (int64_t)range.last);
    sql_bind_int(s, 3, c->accepted_from_ms);
    sql_bind_int(s, 4, c->accepted_to_ms);
    sql_bind_int(s, 5, c->app_no);
    sql_bind_int(s, 6, c->app_no);
    size_t at = 0;
    while (sql_row(&l->sql, s)) {
        uint32_t app_no = (uint32_t)sql_int(s, 0);
        while (at < c->count && c->apps[at].app_no < app_no)
            at++;
        if (at == c->count || c->apps[at].app_no != app_no) {
            c->apps = xgrow(c->apps, capacity, c->count + 1, sizeof *c->apps);
            memmove(&c->apps[at + 1], &c->apps[at], (c->count - at) * sizeof *c->apps);
            c->apps[at] = (struct callback_count_row){app_no, 0};
            c->count++;
        }
        c->apps[at].count += sql_int(s, 1);
    }
    sql_finalize(s);
}

static enum store_status read_count(struct lookup *l, struct callback_count *c)
{
    c->apps = NULL;
    c->count = 0;
    struct range range =
        accepted_between(&l->sql, c->account_no, c->accepted_from_ms, c->accepted_to_ms);
    if (range.first > range.last)
        return STORE_OK;
    size_t capacity = 0;
    for (enum callback_state state = CALLBACK_PENDING; state <= CALLBACK_SKIPPED; state++)
        if ((c->states & 1u << state) && state != CALLBACK_DELIVERING) /* never stored */
            count_state(l, c, state, range, &capacity);
    return STORE_OK;
}

static void drop_results(struct request *r)
{
    if (r->kind == REQUEST_STATEMENT) {
        struct statement_query *query = r->what;
        free(query->apps);
        query->apps = NULL;
        query->count = 0;
    } else if (r->kind == REQUEST_BOOKS) {
        struct books_check *check = r->what;
        free(check->differences);
        check->differences = NULL;
        check->difference_count = 0;
    } else {
        struct callback_count *c = r->what;
        free(c->apps);
        c->apps = NULL;
        c->count = 0;
    }
}

static enum store_status scan(struct sqlite_store *s, const struct request *r)
{
    if (r->kind == REQUEST_STATEMENT)
        return read_statement(&s->scans, r->what);
    if (r->kind == REQUEST_BOOKS)
        return read_books(s, r->what);
    ASSERT(r->kind == REQUEST_COUNT);
    return read_count(&s->scans, r->what);
}

void *scans_main(void *arg)
{
    struct sqlite_store *s = arg;
    CHECK_MAGIC(s, SQLITE_STORE_MAGIC);
    struct sql *q = &s->scans.sql;
    struct request *r;
    while ((r = reader_next(s, &s->to_scans, q, CACHE_SCANS))->kind != REQUEST_STOP) {
        sql_exec(q, "BEGIN");
        enum store_status status = scan(s, r);
        sql_exec(q, "COMMIT");
        if (sql_failed(q)) {
            drop_results(r);
            status = STORE_FAILED;
            sql_recover(q);
        }
        request_answer(s, r, status);
    }
    free(r);
    return NULL;
}
