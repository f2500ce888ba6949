/* Sums a memtable's events for each report row (day, account, client), so that each row is read and
 * written once. Counts each active panelist of a client and day once, by sets that have a table for
 * each day, which is dropped whole when the day is old. The counts stay in the report row.
 *
 * A set stores bits for each panelist: whether the panelist has started live and test surveys, and,
 * above ACTIVE_FLAGS, the intraday slot in which the first live start was counted (plus 1; 0:
 * none).
 *
 * A client's set of a day is complete or empty. If it is empty although the report row counts
 * panelists, the set was dropped. It is then rebuilt from the events, so that late events (an
 * import) count no panelist twice. */
#include "store/sqlite/apply_reports.h"

#include "domain/clock.h"
#include "store/sqlite/accepted.h"
#include "store/sqlite/apply.h"
#include "store/sqlite/report_row.h"
#include "store/sqlite/schema.h"

#include <inttypes.h>
#include <stdlib.h>

struct report_order {
    int32_t day;
    uint32_t account_no, client_no;
    struct key128 panelist;
    const struct event *event;
};

static int by_report(const void *x, const void *y)
{
    const struct report_order *a = x, *b = y;
    if (a->day != b->day)
        return a->day < b->day ? -1 : 1;
    if (a->account_no != b->account_no)
        return a->account_no < b->account_no ? -1 : 1;
    if (a->client_no != b->client_no)
        return a->client_no < b->client_no ? -1 : 1;
    if (a->panelist.hi != b->panelist.hi)
        return (int64_t)a->panelist.hi < (int64_t)b->panelist.hi ? -1 : 1;
    if (a->panelist.lo != b->panelist.lo)
        return (int64_t)a->panelist.lo < (int64_t)b->panelist.lo ? -1 : 1;
    return 0;
}

static bool same_row(const struct report_order *a, const struct report_order *b)
{
    return a->day == b->day && a->account_no == b->account_no && a->client_no == b->client_no;
}

static void open_active_day(struct apply *a, int64_t day)
{
    bool is_new = false;
    (void)idmap_put(&a->active.touched, apply_day_key(day), &is_new);
    if (a->active.add && a->active.day == day)
        return;
    sql_finalize(a->active.any);
    sql_finalize(a->active.find);
    sql_finalize(a->active.add);
    sql_finalize(a->active.update);
    a->active.day = day;
    schema_create_active_day(&a->sql, day);
    a->active.any = sql_prepare_f(
        &a->sql, "SELECT 1 FROM \"active_%" PRId64 "\" WHERE client_no=? LIMIT 1", day);
    a->active.find = sql_prepare_f(&a->sql,
                                   "SELECT bits FROM \"active_%" PRId64 "\""
                                   " WHERE client_no=? AND hi=? AND lo=?",
                                   day);
    a->active.add =
        sql_prepare_f(&a->sql, "INSERT INTO \"active_%" PRId64 "\" VALUES(?,?,?,?)", day);
    a->active.update = sql_prepare_f(&a->sql,
                                     "UPDATE \"active_%" PRId64 "\" SET bits=?4"
                                     " WHERE client_no=?1 AND hi=?2 AND lo=?3",
                                     day);
}

static void bind_panelist(sqlite3_stmt *s, const struct report_order *at)
{
    sql_bind_int(s, 1, at->client_no);
    sql_bind_int(s, 2, (int64_t)at->panelist.hi);
    sql_bind_int(s, 3, (int64_t)at->panelist.lo);
}

#define ACTIVE_LIVE 1
#define ACTIVE_TEST 2
#define ACTIVE_FLAGS 3
#define ACTIVE_SLOT_SHIFT 2

static int64_t bits_of_start(const struct event *e)
{
    return (e->is_test ? ACTIVE_TEST : ACTIVE_LIVE) | (int64_t)(intraday_slot(e) + 1)
                                                          << ACTIVE_SLOT_SHIFT;
}

static int64_t bits_join(int64_t x, int64_t y)
{
    int64_t a = x >> ACTIVE_SLOT_SHIFT, b = y >> ACTIVE_SLOT_SHIFT;
    int64_t first = a == 0 || (b != 0 && b < a) ? b : a;
    return ((x | y) & ACTIVE_FLAGS) | first << ACTIVE_SLOT_SHIFT;
}

/* Adds a panelist who started surveys on that day; returns the bits before. The day's set is
 * open. */
static int64_t put_active(struct apply *a, const struct report_order *at, int64_t bits)
{
    bind_panelist(a->active.find, at);
    int64_t before = 0;
    if (sql_row(&a->sql, a->active.find)) {
        before = sql_int(a->active.find, 0);
        sql_reset(a->active.find);
    }
    bits = bits_join(before, bits);
    if (bits == before)
        return before;
    sqlite3_stmt *s = before == 0 ? a->active.add : a->active.update;
    bind_panelist(s, at);
    sql_bind_int(s, 4, bits);
    sql_run(&a->sql, s);
    return before;
}

static void add_active(struct apply *a, const struct report_order *at, int64_t bits,
                       struct report_sums *sums)
{
    int64_t before = put_active(a, at, bits);
    sums->active_any += before == 0;
    sums->active_live += (before & ACTIVE_LIVE) == 0 && (bits & ACTIVE_LIVE) != 0;
    int64_t slot_before = before >> ACTIVE_SLOT_SHIFT;
    int64_t slot = bits_join(before, bits) >> ACTIVE_SLOT_SHIFT;
    if (slot == slot_before)
        return;
    apply_intraday_active(a, (int)slot - 1, 1);
    if (slot_before > 0)
        apply_intraday_active(a, (int)slot_before - 1, -1);
}

/* The account's first event in the memtable: its rows are in the table already, but not counted
 * yet. */
static uint64_t first_new_id(const struct apply *a, uint32_t account_no)
{
    for (size_t i = 0; i < a->m->event_count; i++)
        if (a->m->events[i].account_no == account_no)
            return event_id_of(account_no, a->m->events[i].event_no);
    UNREACHABLE();
}

#define START_COLUMNS "SELECT client_no,panelist_id,is_test,occurred_ms,accepted_ms FROM event "

/* Rebuilds the sets of all clients of an account in one pass over the day's events. */
static void remake_sets(struct apply *a, const struct report_order *at)
{
    struct range range = accepted_on(&a->sql, at->account_no, at->day);
    uint64_t end = first_new_id(a, at->account_no);
    sqlite3_stmt *s = sql_prepare(
        &a->sql, START_COLUMNS
        "NOT INDEXED WHERE id>=?1 AND id<=?2 AND id<?5 AND type=?6 AND " SCHEMA_EVENT_IS_ON_TIME
        " AND " SCHEMA_EVENT_DAY "=?4 UNION ALL " START_COLUMNS
        "INDEXED BY event_late WHERE " ACCOUNT_OF_ID_SQL "=?3 AND " SCHEMA_EVENT_IS_LATE
        " AND " SCHEMA_EVENT_DAY "=?4 AND id<?5 AND type=?6");
    sql_bind_int(s, 1, (int64_t)range.first);
    sql_bind_int(s, 2, (int64_t)range.last);
    sql_bind_int(s, 3, at->account_no);
    sql_bind_int(s, 4, at->day);
    sql_bind_int(s, 5, (int64_t)end);
    sql_bind_int(s, 6, EVENT_SURVEY_STARTED);
    while (sql_row(&a->sql, s)) {
        struct report_order start = {
            .client_no = (uint32_t)sql_int(s, 0),
            .panelist = panelist_key(&a->secret, at->account_no, sql_str(s, 1)),
        };
        struct event e = {
            .is_test = sql_int(s, 2) != 0,
            .occurred_ms = sql_int(s, 3),
            .accepted_ms = sql_int(s, 4),
        };
        (void)put_active(a, &start, bits_of_start(&e));
    }
    sql_finalize(s);
}

/* Runs before the first start of a row is counted. */
static void open_set(struct apply *a, const struct report_order *at, const struct report_sums *sums)
{
    open_active_day(a, at->day);
    if (sums->active_any == 0)
        return;
    sql_bind_int(a->active.any, 1, at->client_no);
    bool complete = sql_row(&a->sql, a->active.any);
    sql_reset(a->active.any);
    if (!complete)
        remake_sets(a, at);
}

/* Adds the events of one row, order[0..count). */
static void apply_row(struct apply *a, const struct report_order *order, size_t count)
{
    struct report_sums sums = {0};
    apply_intraday_open(a, order->account_no, order->day);
    sql_bind_int(a->reports.find, 1, order->account_no);
    sql_bind_int(a->reports.find, 2, order->day);
    sql_bind_int(a->reports.find, 3, order->client_no);
    if (sql_row(&a->sql, a->reports.find)) {
        report_sums_read(a->reports.find, &sums);
        sql_reset(a->reports.find);
    }
    int64_t bits = 0;
    bool open = false;
    for (size_t i = 0; i < count; i++) {
        const struct event *e = order[i].event;
        report_sums_add(&sums, e);
        apply_intraday_event(a, e);
        if (e->type == EVENT_SURVEY_STARTED)
            bits = bits_join(bits, bits_of_start(e));
        bool last = i + 1 == count || !key128_eq(order[i].panelist, order[i + 1].panelist);
        if (!last)
            continue;
        if (bits != 0 && !open)
            open_set(a, &order[i], &sums);
        if (bits != 0)
            add_active(a, &order[i], bits, &sums);
        open |= bits != 0;
        bits = 0;
    }
    sql_bind_int(a->reports.set, 1, order->account_no);
    sql_bind_int(a->reports.set, 2, order->day);
    sql_bind_int(a->reports.set, 3, order->client_no);
    report_sums_bind(a->reports.set, &sums);
    sql_run(&a->sql, a->reports.set);
}

void apply_reports(struct apply *a)
{
    const struct memtable *m = a->m;
    if (m->event_count == 0)
        return;
    struct report_order *order = apply_order(a, m->event_count, sizeof *order);
    for (size_t i = 0; i < m->event_count; i++) {
        const struct event *e = &m->events[i];
        order[i] = (struct report_order){clock_day(e->occurred_ms), e->account_no, e->client_no,
                                         a->panelists[i], e};
    }
    qsort(order, m->event_count, sizeof *order, by_report);
    size_t start = 0;
    for (size_t i = 1; i <= m->event_count; i++) {
        if (i < m->event_count && same_row(&order[start], &order[i]))
            continue;
        apply_row(a, order + start, i - start);
        start = i;
    }
    apply_intraday_end(a);
    apply_intraday_left_out(a);
}
