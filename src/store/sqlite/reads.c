/* The API's reader. Its reads come after the read barrier, so SQLite alone has the answer. */
#include "store/sqlite/reads.h"

#include "base/alloc.h"
#include "store/sqlite/apply_stats.h"
#include "store/sqlite/reads_callbacks.h"
#include "store/sqlite/report_row.h"
#include "store/sqlite/scans.h"
#include "store/sqlite/search.h"
#include "store/sqlite/writer_thread.h"

#include <inttypes.h>
#include <stdlib.h>

#define READER_IDLE_MS 5000
#define READS_CACHE_KIB 4096
#define STEPS_BETWEEN_LOOKS 100000 /* of SQLite's virtual machine: some milliseconds */

bool reads_are_over(const struct sqlite_store *s)
{
    long long at_ms = atomic_load(&s->reads_until_mono_ms);
    return at_ms != 0 && env_mono_ms(s->env) >= at_ms;
}

static int end_when_over(void *store)
{
    return reads_are_over(store);
}

void reader_configure(struct reader *reader)
{
    struct sql *q = &reader->lookup.sql;
    if (reader->is_scans) {
        scans_configure(reader);
        return;
    }
    sql_exec_f(q, "PRAGMA cache_size=-%d", READS_CACHE_KIB);
    sqlite3_progress_handler(q->db, STEPS_BETWEEN_LOOKS, end_when_over, reader->store);
}

/* --- reports ---------------------------------------------------------------------------------- */

static int by_number(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

static bool client_wanted(const struct report_query *q, uint32_t client_no)
{
    return !q->client_nos || bsearch(&client_no, q->client_nos, q->client_count,
                                     sizeof *q->client_nos, by_number) != NULL;
}

static struct report_row report_row_of(const struct report_query *q, sqlite3_stmt *s,
                                       const struct report_sums *sums)
{
    struct report_row row = {
        .day = (int32_t)sql_int(s, 1),
        .client_no = (uint32_t)sql_int(s, 2),
        .survey_starts = sums->live.starts,
        .survey_outcomes = sums->live.outcomes,
        .active_panelists = q->include_test ? sums->active_any : sums->active_live,
    };
    for (int i = 0; i < 2; i++) {
        row.conversions[i] = sums->live.conversions[i];
        row.earnings_micros[i] = sums->live.earnings_micros[i];
        if (q->include_test) {
            row.conversions[i] += sums->test.conversions[i];
            row.earnings_micros[i] += sums->test.earnings_micros[i];
        }
    }
    if (q->include_test) {
        row.survey_starts += sums->test.starts;
        row.survey_outcomes += sums->test.outcomes;
    }
    return row;
}

static enum store_status read_report(struct event_lookup *l, struct report_query *q)
{
    size_t capacity = 0;
    q->rows = NULL;
    q->count = 0;
    q->more = false;
    sqlite3_stmt *s = sql_prepare(&l->sql, "SELECT * FROM report WHERE account_no=?1 AND day>=?2"
                                           " AND day<=?3 AND (day,client_no)>(?4,?5)"
                                           " ORDER BY day,client_no");
    bool from_start = q->after_day < q->first_day;
    sql_bind_int(s, 1, q->account_no);
    sql_bind_int(s, 2, from_start ? q->first_day : q->after_day);
    sql_bind_int(s, 3, q->last_day);
    sql_bind_int(s, 4, q->after_day);
    sql_bind_int(s, 5, q->after_client_no);
    while (!q->more && sql_row(&l->sql, s)) {
        struct report_sums sums;
        report_sums_read(s, &sums);
        bool any = sums.live.events > 0 || q->include_test;
        if (!any || !client_wanted(q, (uint32_t)sql_int(s, 2)))
            continue;
        q->more = q->count == q->limit;
        if (q->more)
            break;
        *ARRAY_PUSH(q->rows, q->count, capacity) = report_row_of(q, s, &sums);
    }
    sql_finalize(s);
    return STORE_OK;
}

static enum store_status read_intraday(struct event_lookup *l, struct intraday_query *q)
{
    q->complete = meta_get_int(&l->sql, META_INTRADAY_FROM_DAY, INT32_MIN) <= q->day;
    sqlite3_stmt *s = sql_prepare(&l->sql, "SELECT slot,survey_starts,conversions,active_panelists,"
                                           "earnings_high,earnings_low FROM intraday"
                                           " WHERE day=? AND account_no=?");
    sql_bind_int(s, 1, q->day);
    sql_bind_int(s, 2, q->account_no);
    while (sql_row(&l->sql, s)) {
        int64_t at = sql_int(s, 0);
        if (at < 0 || at >= INTRADAY_SLOTS)
            continue; /* a damaged row */
        q->slots[at] = (struct intraday_slot){
            .survey_starts = sql_int(s, 1),
            .conversions = sql_int(s, 2),
            .active_panelists = sql_int(s, 3),
            .earnings_micros = money_read(s, 4),
        };
    }
    sql_finalize(s);
    return STORE_OK;
}

#define NAME(name) "," #name
#define NAMES DELIVERY_STATS_COLUMNS(NAME)

/* Looks up each slot, because a slot has the rows of all accounts; no step has many slots. */
static void read_step(struct sql *q, struct delivery_stats_query *query, int step)
{
    int64_t slot, last;
    lane_no first_lane, last_lane;
    delivery_stats_slots(query, step, &slot, &last);
    delivery_stats_lanes(query, &first_lane, &last_lane);
    int64_t first = delivery_stats_first_slot(q, step, INT64_MAX);
    sqlite3_stmt *s = sql_prepare(q, "SELECT 0" NAMES " FROM delivery_stats WHERE step=?1"
                                     " AND slot=?2 AND account_no=?3 AND lane>=?4 AND lane<=?5");
    sql_bind_int(s, 1, step);
    sql_bind_int(s, 3, query->account_no);
    sql_bind_int(s, 4, (int64_t)first_lane);
    sql_bind_int(s, 5, (int64_t)last_lane);
    for (slot = slot < first ? first : slot; slot <= last; slot++) {
        struct delivery_stats *to =
            delivery_stats_point(query, slot * delivery_stats_steps[step - 1].step_ms);
        sql_bind_int(s, 2, slot);
        while (sql_row(q, s))
            for (size_t i = 0; to && i < DELIVERY_STATS_COUNTS; i++)
                *delivery_stats_column(to, i) += sql_int(s, (int)i + 1);
    }
    sql_finalize(s);
}

static enum store_status read_delivery_stats(struct event_lookup *l,
                                             struct delivery_stats_query *query)
{
    for (int step = 1; step <= DELIVERY_STATS_STEPS; step++)
        read_step(&l->sql, query, step);
    return STORE_OK;
}

/* --- objects ---------------------------------------------------------------------------------- */

static enum store_status read_objects(struct event_lookup *l, struct object_list *list)
{
    size_t capacity = list->limit;
    list->rows = arena_alloc(&list->arena, capacity * sizeof *list->rows);
    list->count = 0;
    list->more = false;
    sqlite3_stmt *s = sql_prepare(&l->sql, "SELECT id,document FROM object WHERE kind=?1 AND id>=?2"
                                           " AND id<?3 ORDER BY id DESC");
    sql_bind_int(s, 1, list->kind);
    sql_bind_str(s, 2, list->from);
    sql_bind_str(s, 3, list->below);
    while (!list->more && sql_row(&l->sql, s)) {
        if (list->count == capacity)
            list->more = true;
        else
            list->rows[list->count++] = (struct object_row){arena_str(&list->arena, sql_str(s, 0)),
                                                            arena_str(&list->arena, sql_str(s, 1))};
    }
    sql_finalize(s);
    return STORE_OK;
}

/* --- waiting callbacks ------------------------------------------------------------------------ */

static int64_t oldest_waiting(struct event_lookup *l, const struct lane_waiting *w,
                              enum lane_kind kind)
{
    struct event_row row;
    uint64_t id = search_first_waiting(l, w->account_no, w->app_no, kind);
    int64_t ms = id != 0 && lookup_row(l, id, &row) ? row.event.accepted_ms : 0;
    sql_reset(l->row);
    return ms;
}

static enum store_status read_waiting(struct event_lookup *l, struct lane_waiting *w)
{
    sqlite3_stmt *s = sql_prepare_f(&l->sql,
                                    "SELECT lane,sum(count) FROM book INDEXED BY book_waiting"
                                    " WHERE app_no=? AND state=%d AND count>0 AND account_no=?"
                                    " GROUP BY lane",
                                    CALLBACK_PENDING);
    sql_bind_int(s, 1, w->app_no);
    sql_bind_int(s, 2, w->account_no);
    while (sql_row(&l->sql, s))
        if (sql_int(s, 0) > LANE_NONE && sql_int(s, 0) < LANE_KINDS)
            w->count[sql_int(s, 0)] = sql_int(s, 1);
    sql_finalize(s);
    for (enum lane_kind kind = LANE_SUCCESS; kind < LANE_KINDS; kind++)
        if (w->count[kind] > 0)
            w->oldest_accepted_ms[kind] = oldest_waiting(l, w, kind);
    return STORE_OK;
}

/* --- the thread ------------------------------------------------------------------------------- */

static enum store_status read_one(struct reader *reader, const struct request *r)
{
    struct event_lookup *l = &reader->lookup;
    if (r->kind == REQUEST_REPORT)
        return read_report(l, r->what);
    if (r->kind == REQUEST_INTRADAY)
        return read_intraday(l, r->what);
    if (r->kind == REQUEST_DELIVERY_STATS)
        return read_delivery_stats(l, r->what);
    if (r->kind == REQUEST_CALLBACK)
        return read_callback(l, r->id, r->what);
    if (r->kind == REQUEST_OBJECTS)
        return read_objects(l, r->what);
    if (r->kind == REQUEST_WAITING)
        return read_waiting(l, r->what);
    ASSERT(r->kind == REQUEST_CALLBACKS);
    return read_list(l, &reader->store->view.secret, r->id, r->what);
}

struct request *reader_next(struct sqlite_store *s, struct queue *from, size_t taker, struct sql *q,
                            enum cache which)
{
    store_note_cache(s, q, which);
    struct request *r = queue_take_turn(from, taker, READER_IDLE_MS);
    if (r)
        return r;
    sql_release_cache(q);
    store_note_cache(s, q, which);
    return queue_take_turn(from, taker, -1);
}

void *reader_main(void *arg)
{
    struct reader *reader = arg;
    struct sqlite_store *s = reader->store;
    CHECK_MAGIC(s, SQLITE_STORE_MAGIC);
    bool scans = reader->is_scans;
    store_thread_begin(scans ? "store-scans" : "store-reads", scans ? APPLIER_NICER : READER_NICER);
    struct sql *q = &reader->lookup.sql;
    struct queue *from = scans ? &s->to_scans : &s->to_reads;
    enum cache cache = (enum cache)((scans ? CACHE_SCANS : CACHE_READS) + reader->number);
    struct request *r;
    while ((r = reader_next(s, from, reader->number, q, cache))->kind != REQUEST_STOP) {
        sql_exec(q, "BEGIN");
        enum store_status status = scans ? scan(reader, r) : read_one(reader, r);
        sql_exec(q, "COMMIT");
        if (sql_failed(q)) {
            if (scans)
                scan_drop_results(r);
            status = STORE_FAILED;
            sql_recover(q);
        }
        request_answer(s, r, status);
    }
    free(r);
    return NULL;
}
