/* Checks the books of whole days: reads a day's books, events and report sums in one transaction;
 * store/books.c compares them. The day's events are found as for a statement: by the range of
 * numbers accepted on the day, and by the index of late events. */
#include "store/sqlite/check_books.h"

#include "base/arithmetic.h"
#include "domain/clock.h"
#include "store/sqlite/accepted.h"
#include "store/sqlite/report_row.h"

/* The thread works and sleeps in turns, so that a day of millions does not occupy a core for
 * seconds. */
#define RUN_US 5000
#define PAUSE_MS 5

struct books_scan {
    struct sqlite_store *store;
    struct sql *sql;
    struct books_day day;
    int64_t looked_us;
    bool given_way; /* another read waits: the day was not read to its end */
};

bool books_go_on(struct books_scan *c)
{
    if (!c->given_way && timing_now_us() - c->looked_us >= RUN_US) {
        c->given_way = queue_has_any(&c->store->to_scans, PAUSE_MS);
        c->looked_us = timing_now_us();
    }
    return !c->given_way;
}

static int64_t first_int(struct sql *q, const char *text, int64_t a, int64_t b, int64_t otherwise)
{
    sqlite3_stmt *s = sql_prepare(q, text);
    sql_bind_int(s, 1, a);
    sql_bind_int(s, 2, b);
    int64_t found = otherwise;
    if (sql_row(q, s)) {
        found = sqlite3_column_type(s, 0) == SQLITE_NULL ? otherwise : sql_int(s, 0);
        sql_reset(s);
    }
    sql_finalize(s);
    return found;
}

/* The next day with books or report sums; INT64_MAX: the account has none. */
static int64_t day_from(struct sql *q, int64_t account_no, int64_t day)
{
    return int64_min(first_int(q, "SELECT min(day) FROM book WHERE account_no=? AND day>=?",
                               account_no, day, INT64_MAX),
                     first_int(q, "SELECT min(day) FROM report WHERE account_no=? AND day>=?",
                               account_no, day, INT64_MAX));
}

static int64_t account_behind(struct sql *q, int64_t account_no)
{
    return int64_min(first_int(q, "SELECT min(account_no) FROM book WHERE account_no>?+?",
                               account_no, 0, INT64_MAX),
                     first_int(q, "SELECT min(account_no) FROM report WHERE account_no>?+?",
                               account_no, 0, INT64_MAX));
}

/* Moves the position in `check` to the next day with books or report sums. False: there is none. */
static bool next_day(struct sql *q, const struct books_check *check, uint32_t *ret_account_no,
                     int32_t *ret_day)
{
    int64_t account_no = check->last_account_no;
    int64_t day = (int64_t)check->last_day + 1;
    if (account_no == 0) {
        account_no = account_behind(q, 0);
        day = check->from_day;
    }
    while (account_no != INT64_MAX) {
        int64_t found = day_from(q, account_no, day > check->from_day ? day : check->from_day);
        if (found != INT64_MAX) {
            *ret_account_no = (uint32_t)account_no;
            *ret_day = (int32_t)found;
            return true;
        }
        account_no = account_behind(q, account_no);
        day = check->from_day;
    }
    return false;
}

static void read_ledger(struct books_scan *c)
{
    sqlite3_stmt *s = sql_prepare(
        c->sql, "SELECT app_no,lane,is_test,state,count,reward_high,reward_low,revenue_high,"
                "revenue_low FROM book WHERE account_no=? AND day=?");
    sql_bind_int(s, 1, c->day.account_no);
    sql_bind_int(s, 2, c->day.day);
    while (sql_row(c->sql, s)) {
        struct book_key key = {.account_no = c->day.account_no,
                               .day = c->day.day,
                               .app_no = (uint32_t)sql_int(s, 0),
                               .lane = (enum lane_kind)sql_int(s, 1),
                               .is_test = sql_int(s, 2) != 0};
        int64_t state = sql_int(s, 3);
        if (state < 0 || state >= BOOK_STATES)
            /* no event has this state, so it is reported as a difference */
            state = CALLBACK_DELIVERING;
        book_add(&books_at(&c->day.ledger, &key)->sums[state], sql_int(s, 4), money_read(s, 5),
                 money_read(s, 7));
    }
    sql_finalize(s);
}

#define COLUMNS "app_no,client_no,lane,is_test,state,reward_micros,revenue_micros"

static void read_events(struct books_scan *c)
{
    struct range range = accepted_on(c->sql, c->day.account_no, c->day.day);
    sqlite3_stmt *s =
        sql_prepare(c->sql, "SELECT " COLUMNS " FROM event NOT INDEXED WHERE id>=?1 AND id<=?2"
                            " AND " SCHEMA_EVENT_IS_ON_TIME " AND " SCHEMA_EVENT_DAY
                            "=?4 UNION ALL SELECT " COLUMNS
                            " FROM event INDEXED BY event_late WHERE " ACCOUNT_OF_ID_SQL "=?3"
                            " AND " SCHEMA_EVENT_IS_LATE " AND " SCHEMA_EVENT_DAY "=?4");
    sql_bind_int(s, 1, (int64_t)range.first);
    sql_bind_int(s, 2, (int64_t)range.last);
    sql_bind_int(s, 3, c->day.account_no);
    sql_bind_int(s, 4, c->day.day);
    while (sql_row(c->sql, s)) {
        struct event e = {.account_no = c->day.account_no,
                          .app_no = (uint32_t)sql_int(s, 0),
                          .client_no = (uint32_t)sql_int(s, 1),
                          .lane = (enum lane_kind)sql_int(s, 2),
                          .is_test = sql_int(s, 3) != 0,
                          .occurred_ms = c->day.day * DAY_MS,
                          .reward_micros = sql_int(s, 5),
                          .revenue_micros = sql_int(s, 6)};
        int64_t state = sql_int(s, 4);
        if (state < 0 || state >= BOOK_STATES)
            state = CALLBACK_DELIVERING; /* no book has this state */
        books_day_event(&c->day, &e, (enum callback_state)state);
    }
    sql_finalize(s);
}

static void read_earnings(struct books_scan *c)
{
    sqlite3_stmt *s = sql_prepare(c->sql, "SELECT * FROM report WHERE account_no=? AND day=?");
    sql_bind_int(s, 1, c->day.account_no);
    sql_bind_int(s, 2, c->day.day);
    while (sql_row(c->sql, s)) {
        struct report_sums sums;
        report_sums_read(s, &sums);
        books_day_earnings(&c->day, (uint32_t)sql_int(s, 2),
                           sums.live.earnings_micros[0] + sums.live.earnings_micros[1],
                           sums.test.earnings_micros[0] + sums.test.earnings_micros[1]);
    }
    sql_finalize(s);
}

static void read_days(struct books_scan *c, struct books_check *check)
{
    uint32_t account_no;
    int32_t day;
    while (!sql_failed(c->sql) && next_day(c->sql, check, &account_no, &day)) {
        check->more = check->callbacks >= check->callbacks_most || check->days >= BOOKS_DAYS_MOST;
        if (check->more)
            break;
        books_day_begin(&c->day, account_no, day);
        read_ledger(c);
        read_events(c);
        read_earnings(c);
        if (c->given_way || sql_failed(c->sql))
            break;
        books_day_end(&c->day, check);
        c->given_way = queue_has_any(&c->store->to_scans, 0);
        if (c->given_way)
            break;
    }
    books_day_free(&c->day);
}

enum store_status read_books(struct reader *scanner, struct books_check *check)
{
    struct books_scan c = {
        .store = scanner->store, .sql = &scanner->lookup.sql, .looked_us = timing_now_us()};
    int64_t began_ms = env_mono_ms(c.store->env);
    scanner->books = &c;
    read_days(&c, check);
    scanner->books = NULL;
    check->took_ms = env_mono_ms(c.store->env) - began_ms;
    if (!c.given_way)
        return STORE_OK;
    if (c.sql->code == SQLITE_INTERRUPT)
        sql_forget(c.sql); /* its transaction goes on */
    check->more = true;
    return check->days > 0 ? STORE_OK : STORE_BUSY;
}
