/* Answers statements, counts and checks of the books. They read many rows, and a statement also
 * sorts them, which may take seconds for a day with millions of events.
 *
 * The sort spills to a temporary file (in SQLITE_TMPDIR, /var/tmp or /tmp) when it outgrows this
 * connection's cache, so that memory stays bounded. */
#include "store/sqlite/scans.h"

#include "store/sqlite/accepted.h"
#include "store/sqlite/check_books.h"
#include "store/sqlite/reads.h"
#include "store/sqlite/search.h"
#include "store/statement.h"

#include <stdlib.h>
#include <unistd.h>

/* also the amount sorted at a time, during which the scan cannot give way */
#define SCANS_CACHE_KIB 1024

/* A scan gives way to scans that began later, so that a short scan of another account does not wait
 * for a long one, even if both share a core. */
#define STEPS_BETWEEN_LOOKS 1000 /* of SQLite's virtual machine: some 50 us */
#define RUN_US 250
#define REST_US 500
#define BEGINS_US 5000 /* after it was queued */

static bool is_younger_at_work(const struct reader *scanner)
{
    const struct sqlite_store *s = scanner->store;
    long long begun_us = atomic_load(&scanner->begun_us);
    for (size_t i = 0; i < READERS; i++)
        if (atomic_load(&s->scanners[i].begun_us) > begun_us)
            return true;
    return false;
}

/* True if a queued scan has not begun: it may be waiting for this core. */
static bool is_one_to_begin(const struct reader *scanner)
{
    long long asked_us = atomic_load(&scanner->store->scan_asked_us);
    return asked_us > atomic_load(&scanner->begun_us) && timing_now_us() - asked_us < BEGINS_US;
}

/* One step of SQLite may pass millions of rows that are not wanted, so what ends a scan is looked
 * for here. */
static int give_way(void *context)
{
    struct reader *scanner = context;
    if (reads_are_over(scanner->store) || (scanner->books && !books_go_on(scanner->books)))
        return 1; /* the statement ends with SQLITE_INTERRUPT */
    if (timing_now_us() - scanner->gave_way_us < RUN_US)
        return 0;
    if (is_younger_at_work(scanner) || is_one_to_begin(scanner))
        (void)usleep(REST_US);
    scanner->gave_way_us = timing_now_us();
    return 0;
}

void scans_configure(struct reader *scanner)
{
    struct sql *q = &scanner->lookup.sql;
    sql_exec_f(q, "PRAGMA cache_size=-%d", SCANS_CACHE_KIB);
    sql_exec(q, "PRAGMA temp_store=FILE");
    sqlite3_progress_handler(q->db, STEPS_BETWEEN_LOOKS, give_way, scanner);
}

#define COLUMNS "app_no,event_id,type,reward_decimals,reward_micros,revenue_micros,state"
#define IN_STATEMENT SCHEMA_EVENT_DAY "=?4 AND lane<>0 AND is_test=0"

static enum store_status read_statement(struct event_lookup *l, struct statement_query *query)
{
    struct range day = accepted_on(&l->sql, query->account_no, query->day);
    struct statement_maker maker;
    statement_begin(&maker, query);
    sqlite3_stmt *s = sql_prepare(
        &l->sql, "SELECT " COLUMNS
                 " FROM event NOT INDEXED WHERE id>=?1 AND id<=?2 AND " SCHEMA_EVENT_IS_ON_TIME
                 " AND " IN_STATEMENT " UNION ALL "
                 "SELECT " COLUMNS " FROM event INDEXED BY event_late"
                 " WHERE " ACCOUNT_OF_ID_SQL "=?3 AND " SCHEMA_EVENT_IS_LATE " AND " IN_STATEMENT
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

static enum store_status read_count(struct event_lookup *l, struct callback_count *c)
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
            search_count(l, c, state, range, &capacity);
    return STORE_OK;
}

void scan_drop_results(const struct request *r)
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

static enum store_status scan_one(struct reader *scanner, const struct request *r)
{
    struct event_lookup *l = &scanner->lookup;
    if (r->kind == REQUEST_STATEMENT)
        return read_statement(l, r->what);
    if (r->kind == REQUEST_BOOKS)
        return read_books(scanner, r->what);
    ASSERT(r->kind == REQUEST_COUNT);
    return read_count(l, r->what);
}

enum store_status scan(struct reader *scanner, const struct request *r)
{
    scanner->gave_way_us = timing_now_us();
    atomic_store(&scanner->begun_us, scanner->gave_way_us);
    enum store_status status = scan_one(scanner, r);
    atomic_store(&scanner->begun_us, 0);
    return status;
}
