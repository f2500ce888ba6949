/* Statements: a whole day is read and sorted, which may take seconds for a day of millions.
 *
 * The sort spills to a temporary file (in SQLITE_TMPDIR, /var/tmp or /tmp) when it outgrows this
 * connection's cache, so that memory stays flat whatever the day holds. */
#include "store/sqlite/sqlite_store.h"

#include <stdlib.h>

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
    struct range day = lookup_accepted_on(l, query->account_no, query->day);
    struct statement_maker maker;
    statement_begin(&maker, query);
    sqlite3_stmt *s = sql_prepare(
        &l->sql, "SELECT " COLUMNS
                 " FROM event NOT INDEXED WHERE id>=?1 AND id<=?2 AND " IN_STATEMENT " UNION ALL "
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

void *scans_main(void *arg)
{
    struct sqlite_store *s = arg;
    CHECK_MAGIC(s, SQLITE_STORE_MAGIC);
    struct sql *q = &s->scans.sql;
    struct request *r;
    for (; (r = queue_take(&s->to_scans, -1))->kind != REQUEST_STOP;) {
        struct statement_query *query = r->what;
        sql_exec(q, "BEGIN");
        enum store_status status = read_statement(&s->scans, query);
        sql_exec(q, "COMMIT");
        if (sql_failed(q)) {
            free(query->apps);
            query->apps = NULL;
            query->count = 0;
            status = STORE_FAILED;
            sql_recover(q);
        }
        request_answer(s, r, status);
    }
    free(r);
    return NULL;
}
