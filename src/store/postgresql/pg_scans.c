/* Reads that visit whole days: statements, counts, checks of the books. Rows are processed as they
 * arrive, so a day of millions takes little memory. They have threads of their own, so that short
 * reads do not wait for them. */
#include "store/postgresql/pg_scans.h"

#include "base/alloc.h"
#include "domain/clock.h"
#include "store/statement.h"

#include <stdlib.h>

/* --- statements ------------------------------------------------------------------------------- */

static void add_to_statement(void *context, const PGresult *r)
{
    struct pg_row row;
    pg_row_read(r, 0, &row);
    statement_add(context, &row.event, row.callback.life.state);
}

enum pg_fate pg_read_statement(struct postgresql_store *s, struct pg *pg, void *statement_query)
{
    (void)s;
    struct statement_query *query = statement_query;
    struct statement_maker maker;
    statement_begin(&maker, query);
    pg_begin(pg, true);
    pg_take_long(pg);
    args_int(pg_args(pg), PG_INT4, query->account_no);
    args_int(&pg->args, PG_INT4, query->day);
    pg_query(pg, "SELECT " ROW_OF_MANY " FROM event e WHERE e.account_no=$1 AND e.day=$2"
                 " ORDER BY e.app_no,e.event_id");
    pg_visit(pg, add_to_statement, &maker);
    enum pg_fate fate = pg_end_read(pg);
    statement_end(&maker);
    if (fate != PG_OK) {
        free(query->apps);
        query->apps = NULL;
        query->count = 0;
    }
    return fate;
}

/* --- a day by slots --------------------------------------------------------------------------- */

#define IS_CONVERSION "reward_micros>0 AND revenue_micros>0" /* event_is_conversion */

/* Computed from the day's events, so it works for any day and costs intake nothing. A start is its
 * panelist's first at a client if no earlier slot has one. */
enum pg_fate pg_read_intraday(struct postgresql_store *s, struct pg *pg, void *intraday_query)
{
    (void)s;
    struct intraday_query *q = intraday_query;
    pg_begin(pg, true);
    pg_take_long(pg);
    args_int(pg_args(pg), PG_INT4, q->account_no);
    args_int(&pg->args, PG_INT4, q->day);
    args_int(&pg->args, PG_INT8, q->day * DAY_MS);
    args_int(&pg->args, PG_INT8, INTRADAY_SLOT_MS);
    args_int(&pg->args, PG_INT8, (q->day + INTRADAY_DAYS + 1) * DAY_MS);
    int at = pg_query_f(
        pg,
        "WITH d AS (SELECT (occurred_ms-$3)/$4 AS slot,type,client_no,panelist_id,"
        "revenue_micros AS r," IS_CONVERSION " AS pays,"
        "accepted_ms>=$5 AS late FROM event"
        " WHERE account_no=$1 AND day=$2 AND NOT is_test),"
        "f AS (SELECT min(slot) AS slot FROM d WHERE type=%d AND NOT late"
        " GROUP BY client_no,panelist_id)"
        "SELECT n.slot,n.starts,n.pays,coalesce(a.active,0),n.micros FROM"
        " (SELECT slot,count(*) FILTER (WHERE type=%d) AS starts,"
        "count(*) FILTER (WHERE pays) AS pays,sum(r)::text AS micros FROM d WHERE NOT late "
        "GROUP BY slot) n"
        " LEFT JOIN (SELECT slot,count(*) AS active FROM f GROUP BY slot) a USING(slot)"
        " UNION ALL SELECT -1,0,0,0,'0' WHERE EXISTS(SELECT FROM d WHERE late)",
        EVENT_SURVEY_STARTED, EVENT_SURVEY_STARTED);
    enum pg_fate fate = pg_end_read(pg);
    if (fate != PG_OK)
        return fate;
    const PGresult *r = pg_result(pg, at);
    q->complete = true;
    memset(q->slots, 0, sizeof q->slots);
    for (int i = 0; i < PQntuples(r); i++) {
        int64_t slot = pg_int(r, i, 0);
        if (slot < 0) { /* an event came too late for any slot */
            q->complete = false;
            continue;
        }
        ASSERT(slot < INTRADAY_SLOTS);
        q->slots[slot] = (struct intraday_slot){
            .survey_starts = pg_int(r, i, 1),
            .conversions = pg_int(r, i, 2),
            .active_panelists = pg_int(r, i, 3),
            .earnings_micros = pg_money(r, i, 4),
        };
    }
    return PG_OK;
}

/* --- counts ----------------------------------------------------------------------------------- */

enum pg_fate pg_read_count(struct postgresql_store *s, struct pg *pg, void *callback_count)
{
    (void)s;
    struct callback_count *c = callback_count;
    struct pg_column states = {.type = PG_INT2};
    for (int state = CALLBACK_PENDING; state <= CALLBACK_SKIPPED; state++)
        if (c->states & 1u << state)
            column_int(&states, state);
    c->apps = NULL;
    c->count = 0;
    pg_begin(pg, true);
    pg_take_long(pg);
    args_int(pg_args(pg), PG_INT4, c->account_no);
    args_int(&pg->args, PG_INT8, c->app_no);
    args_int(&pg->args, PG_INT8, c->accepted_from_ms);
    args_int(&pg->args, PG_INT8, c->accepted_to_ms);
    args_column(&pg->args, &states);
    buf_free(&states.bytes);
    int at = pg_query(pg, "SELECT app_no,count(*) FROM event e WHERE account_no=$1 AND lane<>0"
                          " AND ($2=0 OR app_no=$2) AND accepted_ms>=$3 AND accepted_ms<$4"
                          " AND " ROW_STATE_OF_MANY "=ANY($5) GROUP BY app_no ORDER BY app_no");
    enum pg_fate fate = pg_end_read(pg);
    if (fate != PG_OK)
        return fate;
    const PGresult *r = pg_result(pg, at);
    c->count = (size_t)PQntuples(r);
    c->apps = xcalloc(c->count + 1, sizeof *c->apps);
    for (size_t i = 0; i < c->count; i++)
        c->apps[i] =
            (struct callback_count_row){(uint32_t)pg_int(r, (int)i, 0), pg_int(r, (int)i, 1)};
    return PG_OK;
}

/* --- books ------------------------------------------------------------------------------------ */

static void add_to_day(void *context, const PGresult *r)
{
    struct pg_row row;
    pg_row_read(r, 0, &row);
    books_day_event(context, &row.event, row.callback.life.state);
}

static void add_ledger(struct books_day *d, const PGresult *r)
{
    for (int i = 0; i < PQntuples(r); i++) {
        struct book_key key = {
            .account_no = d->account_no,
            .day = d->day,
            .app_no = (uint32_t)pg_int(r, i, 0),
            .lane = (enum lane_kind)pg_int(r, i, 1),
            .is_test = pg_int(r, i, 2) != 0,
        };
        int64_t state = pg_int(r, i, 3);
        if (state >= 0 && state < BOOK_STATES)
            book_add(&books_at(&d->ledger, &key)->sums[state], pg_int(r, i, 4), pg_money(r, i, 5),
                     pg_money(r, i, 6));
    }
}

/* Reads a day's books, report sums and events in one snapshot, so that a concurrent commit is in
 * all of them or in none. */
static enum pg_fate read_day(struct pg *pg, struct books_day *d)
{
    pg_begin_snapshot(pg);
    pg_take_long(pg);
    args_int(pg_args(pg), PG_INT4, d->account_no);
    args_int(&pg->args, PG_INT4, d->day);
    int ledger = pg_query(pg, "SELECT app_no,lane,is_test,state,count,reward_micros::text,"
                              "revenue_micros::text FROM book WHERE account_no=$1 AND day=$2");
    int earnings = pg_query(pg, "SELECT client_no,(live_survey_micros+live_offer_micros)::text,"
                                "(test_survey_micros+test_offer_micros)::text FROM report"
                                " WHERE account_no=$1 AND day=$2");
    pg_query(pg, "SELECT " ROW_OF_MANY " FROM event e WHERE e.account_no=$1 AND e.day=$2");
    pg_visit(pg, add_to_day, d);
    enum pg_fate fate = pg_end_read(pg);
    if (fate != PG_OK)
        return fate;
    add_ledger(d, pg_result(pg, ledger));
    const PGresult *r = pg_result(pg, earnings);
    for (int i = 0; i < PQntuples(r); i++)
        books_day_earnings(d, (uint32_t)pg_int(r, i, 0), pg_money(r, i, 1), pg_money(r, i, 2));
    return PG_OK;
}

/* Finds the first day after the check's position that has report sums or books. */
static enum pg_fate next_day(struct pg *pg, const struct books_check *c, bool *ret_found,
                             struct books_day *d)
{
    static const char *const tables[] = {"report", "book"};
    int at[2];
    pg_begin(pg, true);
    for (int i = 0; i < 2; i++) {
        args_int(pg_args(pg), PG_INT4, c->last_account_no);
        args_int(&pg->args, PG_INT4, c->last_day);
        args_int(&pg->args, PG_INT4, c->from_day);
        at[i] = pg_query_f(pg,
                           "SELECT account_no,day FROM %s WHERE (account_no,day)>($1,$2)"
                           " AND day>=$3 ORDER BY account_no,day LIMIT 1",
                           tables[i]);
    }
    enum pg_fate fate = pg_end_read(pg);
    *ret_found = false;
    for (int i = 0; fate == PG_OK && i < 2; i++) {
        const PGresult *r = pg_result(pg, at[i]);
        if (PQntuples(r) == 0)
            continue;
        uint32_t account_no = (uint32_t)pg_int(r, 0, 0);
        int32_t day = (int32_t)pg_int(r, 0, 1);
        if (!*ret_found || account_no < d->account_no ||
            (account_no == d->account_no && day < d->day))
            books_day_begin(d, account_no, day);
        *ret_found = true;
    }
    return fate;
}

enum pg_fate pg_read_books(struct postgresql_store *s, struct pg *pg, void *books_check)
{
    struct books_check *check = books_check;
    int64_t begin_ms = env_mono_ms(s->env);
    enum pg_fate fate = PG_OK;
    while (fate == PG_OK) {
        struct books_day d = {0};
        bool found;
        fate = next_day(pg, check, &found, &d);
        if (fate != PG_OK || !found)
            break;
        check->more = check->callbacks >= check->callbacks_most || check->days >= BOOKS_DAYS_MOST;
        if (check->more)
            break;
        fate = read_day(pg, &d);
        if (fate == PG_OK)
            books_day_end(&d, check);
        books_day_free(&d);
    }
    check->took_ms = env_mono_ms(s->env) - begin_ms;
    return fate;
}
