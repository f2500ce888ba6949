/* Short reads: reports, objects, one callback, the log of callbacks. */
#include "store/postgresql/pg_reads.h"

#include "base/alloc.h"
#include "store/postgresql/fetch_rows.h"

#include <stdlib.h>

/* --- reports ---------------------------------------------------------------------------------- */

#define LIVE_COLUMNS                                                                               \
    "day,client_no,live_starts,active_live,live_outcomes,live_conversions_survey,"                 \
    "live_conversions_offer,live_survey_micros::text,live_offer_micros::text"
#define ALL_COLUMNS                                                                                \
    "day,client_no,live_starts+test_starts,active_any,live_outcomes+test_outcomes,"                \
    "live_conversions_survey+test_conversions_survey,"                                             \
    "live_conversions_offer+test_conversions_offer,(live_survey_micros+test_survey_micros)::text," \
    "(live_offer_micros+test_offer_micros)::text"

static void ask_report(struct pg *pg, const struct report_query *q)
{
    struct pg_column clients = {.type = PG_INT8};
    for (size_t i = 0; i < q->client_count; i++)
        column_int(&clients, q->client_nos[i]);
    args_int(pg_args(pg), PG_INT4, q->account_no);
    args_int(&pg->args, PG_INT4, q->first_day);
    args_int(&pg->args, PG_INT4, q->last_day);
    args_int(&pg->args, PG_INT4, q->after_day);
    args_int(&pg->args, PG_INT8, q->after_client_no);
    args_int(&pg->args, PG_INT8, (int64_t)q->limit + 1);
    args_column(&pg->args, &clients);
    pg_query_f(pg,
               "SELECT %s FROM report WHERE account_no=$1 AND day>=$2 AND day<=$3"
               " AND (day,client_no)>($4,$5)%s AND (%s OR client_no=ANY($7))"
               " ORDER BY day,client_no LIMIT $6",
               q->include_test ? ALL_COLUMNS : LIVE_COLUMNS,
               q->include_test ? "" : " AND live_events>0", q->client_nos ? "false" : "true");
    buf_free(&clients.bytes);
}

enum pg_fate pg_read_report(struct postgresql_store *s, struct pg *pg, void *report_query)
{
    (void)s;
    struct report_query *q = report_query;
    pg_begin(pg, true);
    int at = pg->sent;
    ask_report(pg, q);
    q->rows = NULL;
    q->count = 0;
    enum pg_fate fate = pg_end_read(pg);
    if (fate != PG_OK)
        return fate;
    const PGresult *r = pg_result(pg, at);
    size_t n = (size_t)PQntuples(r);
    q->more = n > q->limit;
    q->count = q->more ? q->limit : n;
    q->rows = xcalloc(q->count + 1, sizeof *q->rows);
    for (size_t i = 0; i < q->count; i++) {
        int row = (int)i;
        q->rows[i] = (struct report_row){
            .day = (int32_t)pg_int(r, row, 0),
            .client_no = (uint32_t)pg_int(r, row, 1),
            .survey_starts = pg_int(r, row, 2),
            .active_panelists = pg_int(r, row, 3),
            .survey_outcomes = pg_int(r, row, 4),
            .conversions = {pg_int(r, row, 5), pg_int(r, row, 6)},
            .earnings_micros = {pg_money(r, row, 7), pg_money(r, row, 8)},
        };
    }
    return PG_OK;
}

/* --- objects ---------------------------------------------------------------------------------- */

enum pg_fate pg_read_objects(struct postgresql_store *s, struct pg *pg, void *object_list)
{
    (void)s;
    struct object_list *list = object_list;
    pg_begin(pg, true);
    args_int(pg_args(pg), PG_INT2, list->kind);
    args_str(&pg->args, PG_TEXT, list->from);
    args_str(&pg->args, PG_TEXT, list->below);
    args_int(&pg->args, PG_INT8, (int64_t)list->limit + 1);
    int at = pg_query(pg, "SELECT id,document FROM object WHERE kind=$1 AND id>=$2 AND id<$3"
                          " ORDER BY id DESC LIMIT $4");
    enum pg_fate fate = pg_end_read(pg);
    if (fate != PG_OK)
        return fate;
    const PGresult *r = pg_result(pg, at);
    size_t n = (size_t)PQntuples(r);
    list->more = n > list->limit;
    list->count = list->more ? list->limit : n;
    list->rows = arena_alloc(&list->arena, list->count * sizeof *list->rows + 1);
    for (size_t i = 0; i < list->count; i++)
        list->rows[i] = (struct object_row){arena_str(&list->arena, pg_str(r, (int)i, 0)),
                                            arena_str(&list->arena, pg_str(r, (int)i, 1))};
    return PG_OK;
}

/* --- one callback ----------------------------------------------------------------------------- */

static void read_log(const PGresult *r, struct callback_get *get)
{
    get->row.log_count = (size_t)PQntuples(r);
    get->row.log = arena_alloc(&get->arena, get->row.log_count * sizeof *get->row.log + 1);
    for (int i = 0; i < PQntuples(r); i++)
        /* damaged texts are absent; the rest is shown */
        (void)!pg_attempt_read(r, i, 0, &get->row.event, &get->arena, &get->row.log[i]);
}

static enum pg_fate get_row(struct postgresql_store *s, struct pg *pg, struct callback_get *get,
                            struct arena *arena)
{
    struct fetch_key key;
    struct fetched rows = {0};
    bool found;
    get->status = STORE_NOT_FOUND;
    pg_begin_snapshot(pg);
    enum pg_fate fate = pg_find_key(s, pg, get->account_no, get->event_id, &key, &found);
    if (fate == PG_OK && found)
        fate = fetch_rows(pg, &key, 1, FETCH_UNLOCKED, true, arena, &rows);
    if (fate != PG_OK)
        return fate;
    args_int(pg_args(pg), PG_INT4, get->account_no);
    args_int(&pg->args, PG_INT8, found ? (int64_t)key.event_no : 0);
    int at = pg_query(pg, "SELECT " ATTEMPT_COLUMNS " FROM attempt"
                          " WHERE account_no=$1 AND event_no=$2 ORDER BY at_ms,number");
    fate = pg_end_read(pg);
    if (fate != PG_OK || rows.count == 0 || rows.rows[0].event.lane == LANE_NONE)
        return fate;
    get->status = STORE_OK;
    pg_row_show(&rows.rows[0], &get->arena, &get->row);
    read_log(pg_result(pg, at), get);
    return PG_OK;
}

enum pg_fate pg_read_callback(struct postgresql_store *s, struct pg *pg, void *callback_get)
{
    struct arena arena = {0};
    enum pg_fate fate = get_row(s, pg, callback_get, &arena);
    arena_free(&arena);
    return fate;
}

/* --- the log ---------------------------------------------------------------------------------- */

/* What is older than all that waits needs no look at `waiting`. */
/* clang-format off */
#define IS_UNDELIVERED                                                                             \
    "(e.state NOT IN(3," ROW_PRESUMED ") OR e.state=" ROW_PRESUMED                                 \
    " AND e.accepted_ms>=(SELECT min(w.accepted_ms) FROM waiting w WHERE w.account_no=$1"          \
    " AND w.pending) AND " ROW_WAITS ")"
/* clang-format on */

/* Adds the condition on the stored state. A callback that is being delivered is stored as
 * pending. */
static void add_state(struct buf *sql, const struct callback_list *l)
{
    if (l->state == CALLBACK_DELIVERING)
        buf_printf(sql, " AND " ROW_STATE "=%d AND e.event_no=ANY($11)", CALLBACK_PENDING);
    else if (l->state == CALLBACK_PENDING)
        buf_printf(sql, " AND " ROW_STATE "=%d AND e.event_no<>ALL($11)", CALLBACK_PENDING);
    else if (l->state == CALLBACK_DELIVERED)
        buf_add_c(sql, " AND " ROW_IS_DELIVERED);
    else if (l->state) /* never that of a row that presumes delivery */
        buf_printf(sql, " AND e.state=%d", (int)l->state);
    if (l->undelivered)
        buf_add_c(sql, " AND " IS_UNDELIVERED);
}

/* So many waiting callbacks are read and sorted within tens of milliseconds. */
#define PENDING_SORTED_MOST 5000

/* How a list is searched. The server cannot choose: it does not know where in the order the
 * waiting callbacks are. */
struct list_search {
    bool is_of_waiting;  /* begins with all that waits, which is then sorted */
    int64_t next_events; /* only so many events in the order of the list; 0: all */
};

/* The join uses the whole key of `waiting`: with a part of it each event would be searched in its
 * whole lane. */
static void add_source(struct buf *sql, const struct callback_list *l,
                       const struct list_search *search)
{
    bool newest = l->order == LIST_NEWEST_FIRST;
    buf_printf(sql, "SELECT %s FROM ", l->no_bodies ? ROW_WITHOUT_BODY : ROW_WITH_BODY);
    if (search->next_events)
        buf_printf(sql,
                   "(SELECT * FROM event WHERE account_no=$1 AND period=$2 AND event_no%s$3"
                   " ORDER BY event_no %s LIMIT %lld) e",
                   newest ? "<" : ">", newest ? "DESC" : "ASC", (long long)search->next_events);
    else
        buf_add_c(sql, "event e");
    if (search->is_of_waiting)
        buf_printf(
            sql,
            " JOIN waiting w ON w.account_no=e.account_no AND w.event_no=e.event_no"
            " AND w.due_ms=coalesce(e.due_ms,e.accepted_ms) AND w.lane=(e.app_no::bigint*%d+e.lane)"
            "*CASE e.wait WHEN %d THEN -1 ELSE 1 END",
            LANE_KINDS, (int)WAIT_HELD);
    if (!l->no_bodies)
        buf_add_c(sql, ROW_BODY_JOIN "$2");
}

static void add_filters(struct buf *sql, const struct callback_list *l,
                        const struct list_search *search)
{
    bool newest = l->order == LIST_NEWEST_FIRST;
    add_source(sql, l, search);
    buf_add_c(sql, " WHERE e.account_no=$1 AND e.period=$2");
    if (!l->all_events)
        buf_add_c(sql, " AND e.lane<>0");
    if (l->after_event_no)
        buf_add_c(sql, newest ? " AND e.event_no<$3" : " AND e.event_no>$3");
    if (l->after_event_no && l->of_day)
        buf_printf(sql, " AND %s%s%s", PG_EVENT_RUN("e.event_no"),
                   newest ? "<=" : ">=", PG_EVENT_RUN("$3"));
    if (l->event_id.p)
        buf_add_c(sql, " AND e.event_no=$4");
    if (l->panelist_id.p)
        buf_add_c(sql, " AND " ROW_OF_PANELIST("$1", "$5"));
    if (l->type)
        buf_printf(sql, " AND e.type=%d", (int)l->type);
    if (l->app_no)
        buf_add_c(sql, " AND e.app_no=$6");
    if (l->of_day)
        buf_add_c(sql, " AND e.day=$7");
    if (l->has_from)
        buf_add_c(sql, " AND e.accepted_ms>=$8");
    if (l->has_to)
        buf_add_c(sql, " AND e.accepted_ms<$9");
    add_state(sql, l);
    const char *direction = newest ? "DESC" : "ASC";
    buf_add_c(sql, " ORDER BY ");
    if (l->of_day)
        buf_printf(sql, PG_EVENT_RUN("e.event_no") " %s,", direction);
    buf_printf(sql, "e.event_no %s LIMIT $10", direction);
}

/* The number after which the list begins, or goes on. */
static int64_t after_no(const struct callback_list *l)
{
    int64_t start = l->order == LIST_NEWEST_FIRST ? INT64_MAX : 0;
    return l->after_event_no ? (int64_t)l->after_event_no : start;
}

static int ask_list(struct pg *pg, const struct callback_list *l, const struct fetch_key *at,
                    const char *sql)
{
    struct pg_column tried = {.type = PG_INT8};
    for (size_t i = 0; i < l->tried_count; i++)
        column_int(&tried, (int64_t)l->tried[i]);
    struct pg_args *a = pg_args(pg);
    args_int(a, PG_INT4, l->account_no);
    args_int(a, PG_INT4, at->period);
    args_int(a, PG_INT8, after_no(l));
    args_int(a, PG_INT8, (int64_t)at->event_no);
    args_str(a, PG_TEXT, l->panelist_id);
    args_int(a, PG_INT8, l->app_no);
    args_int(a, PG_INT4, l->day);
    args_int(a, PG_INT8, l->accepted_from_ms);
    args_int(a, PG_INT8, l->accepted_to_ms);
    args_int(a, PG_INT8, (int64_t)(l->limit - l->count) + 1);
    args_column(a, &tried);
    buf_free(&tried.bytes);
    return pg_query(pg, sql);
}

static void take_rows(struct callback_list *l, const PGresult *r)
{
    for (int i = 0; i < PQntuples(r); i++) {
        if (l->count == l->limit) {
            l->more = true;
            return;
        }
        struct pg_row row;
        pg_row_read(r, i, &row);
        struct callback_row *shown = &l->rows[l->count++];
        pg_row_show(&row, &l->arena, shown);
        if (callback_list_state(l, row.event.event_no, row.callback.life.state) ==
            CALLBACK_DELIVERING)
            callback_row_set_tried(shown);
    }
}

/* Finds the periods to search, in the order of the list: the EventId's period, or those of the
 * account that may have rows. */
static enum pg_fate find_places(struct postgresql_store *s, struct pg *pg,
                                const struct callback_list *l, struct arena *arena,
                                struct fetch_key **ret, size_t *ret_count)
{
    bool newest = l->order == LIST_NEWEST_FIRST, found;
    *ret = arena_zalloc(arena, sizeof **ret);
    if (l->event_id.p) {
        enum pg_fate fate = pg_find_key(s, pg, l->account_no, l->event_id, *ret, &found);
        *ret_count = fate == PG_OK && found;
        return fate;
    }
    args_int(pg_args(pg), PG_INT4, l->account_no);
    args_int(&pg->args, PG_INT8, after_no(l));
    int at = pg_query_f(pg,
                        "SELECT period FROM (SELECT period,first_event_no,lead(first_event_no)"
                        " OVER(ORDER BY first_event_no) AS next FROM account_period"
                        " WHERE account_no=$1) p WHERE %s ORDER BY period %s",
                        newest ? "first_event_no<$2" : "coalesce(next>$2+1,true)",
                        newest ? "DESC" : "ASC");
    enum pg_fate fate = pg_sync(pg);
    if (fate != PG_OK)
        return fate;
    const PGresult *r = pg_result(pg, at);
    *ret_count = (size_t)PQntuples(r);
    *ret = arena_zalloc(arena, *ret_count * sizeof **ret + 1);
    for (size_t i = 0; i < *ret_count; i++)
        (*ret)[i].period = (int32_t)pg_int(r, (int)i, 0);
    return PG_OK;
}

#define LIST_EVENT_NO 9 /* the column of event_no, behind those of an attempt */

/* Takes all attempts of one event, from the result's row `at` on; returns their number. */
static int take_attempts(struct callback_list *l, const PGresult *r, int at)
{
    int64_t event_no = pg_int(r, at, LIST_EVENT_NO);
    struct callback_row *row = l->rows;
    while ((int64_t)row->event.event_no != event_no)
        row++;
    int count = 1;
    while (at + count < PQntuples(r) && pg_int(r, at + count, LIST_EVENT_NO) == event_no)
        count++;
    row->log = arena_alloc(&l->arena, (size_t)count * sizeof *row->log);
    row->log_count = (size_t)count;
    for (int i = 0; i < count; i++)
        /* damaged texts are absent; the rest is shown */
        (void)!pg_attempt_read(r, at + count - 1 - i, 0, &row->event, &l->arena, &row->log[i]);
    return count;
}

/* Reads the attempts of all rows at once, so that each partition is searched once. */
static enum pg_fate read_list_attempts(struct pg *pg, struct callback_list *l)
{
    struct pg_column wanted = {.type = PG_INT8};
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++)
        if (callback_list_wants_attempts(l, &l->rows[i])) {
            column_int(&wanted, (int64_t)l->rows[i].event.event_no);
            count++;
        }
    if (count == 0)
        return PG_OK;
    args_int(pg_args(pg), PG_INT4, l->account_no);
    args_column(&pg->args, &wanted);
    buf_free(&wanted.bytes);
    int at = pg_query_f(pg,
                        "SELECT %s number,manual,at_ms,duration_ms,status,"
                        "class,NULL,detail,NULL,event_no FROM attempt"
                        " WHERE account_no=$1 AND event_no=ANY($2)"
                        " ORDER BY event_no,number DESC,at_ms DESC",
                        l->attempts == ATTEMPTS_ALL ? "" : "DISTINCT ON(event_no)");
    enum pg_fate fate = pg_sync(pg);
    const PGresult *r = fate == PG_OK ? pg_result(pg, at) : NULL;
    for (int i = 0; r && i < PQntuples(r);)
        i += take_attempts(l, r, i);
    return fate;
}

/* Sorting all that waits costs some microseconds for each callback, going through events in order a
 * fraction of one. So where much waits, that is tried first: in an outage nearly all of the newest
 * events wait, and a page is found at once. */
static enum pg_fate choose_search(struct pg *pg, const struct callback_list *l,
                                  struct list_search *ret)
{
    *ret = (struct list_search){0};
    if (l->state != CALLBACK_PENDING || l->event_id.p || l->panelist_id.p)
        return PG_OK;
    ret->is_of_waiting = true;
    if (l->of_day)
        return PG_OK;
    args_int(pg_args(pg), PG_INT4, l->account_no);
    int at = pg_query_f(pg,
                        "SELECT coalesce(sum(count),0)::bigint FROM book"
                        " WHERE account_no=$1 AND state=%d",
                        CALLBACK_PENDING);
    enum pg_fate fate = pg_sync(pg);
    int64_t pending = fate == PG_OK ? pg_int(pg_result(pg, at), 0, 0) : 0;
    if (pending > PENDING_SORTED_MOST)
        *ret = (struct list_search){.next_events = 2 * pending};
    return fate;
}

static enum pg_fate search_places(struct pg *pg, struct callback_list *l,
                                  const struct fetch_key *places, size_t count,
                                  const struct list_search *search)
{
    struct buf sql = {0};
    enum pg_fate fate = PG_OK;
    l->count = 0;
    l->more = false;
    add_filters(&sql, l, search);
    for (size_t i = 0; fate == PG_OK && i < count && !l->more; i++) {
        int at = ask_list(pg, l, &places[i], buf_c(&sql));
        fate = pg_sync(pg);
        if (fate == PG_OK)
            take_rows(l, pg_result(pg, at));
    }
    buf_free(&sql);
    return fate;
}

/* Sets the list's status (callback_list.after_accepted_ms). Runs after the rows are listed, in the
 * same snapshot. */
static enum pg_fate check_place(struct pg *pg, struct callback_list *l)
{
    l->status = STORE_OK;
    if (!l->after_accepted_ms)
        return PG_OK;
    args_int(pg_args(pg), PG_INT4, l->account_no);
    args_int(&pg->args, PG_INT8, (int64_t)l->after_event_no);
    int at = pg_query(pg, "SELECT accepted_ms FROM event WHERE account_no=$1 AND event_no=$2"
                          " AND period=(SELECT period FROM account_period WHERE account_no=$1"
                          " AND first_event_no<=$2 ORDER BY first_event_no DESC LIMIT 1)");
    enum pg_fate fate = pg_sync(pg);
    if (fate != PG_OK)
        return fate;
    const PGresult *r = pg_result(pg, at);
    if (callback_list_is_foreign(l, PQntuples(r) ? pg_int(r, 0, 0) : 0))
        l->status = STORE_FOREIGN;
    return PG_OK;
}

static enum pg_fate read_list(struct postgresql_store *s, struct pg *pg, struct callback_list *l,
                              struct arena *arena)
{
    struct fetch_key *places;
    size_t count = 0;
    struct list_search search;
    l->rows = arena_alloc(&l->arena, l->limit * sizeof *l->rows);
    pg_begin_snapshot(pg);
    enum pg_fate fate = choose_search(pg, l, &search);
    if (fate == PG_OK)
        fate = find_places(s, pg, l, arena, &places, &count);
    bool is_next = search.next_events && count > 0;
    if (fate == PG_OK)
        fate = search_places(pg, l, places, is_next ? 1 : count, &search);
    if (fate == PG_OK && is_next && !l->more) {
        search = (struct list_search){.is_of_waiting = true};
        fate = search_places(pg, l, places, count, &search);
    }
    if (fate == PG_OK && l->attempts)
        fate = read_list_attempts(pg, l);
    if (fate == PG_OK)
        fate = check_place(pg, l);
    return fate == PG_OK ? pg_end_read(pg) : fate;
}

enum pg_fate pg_read_list(struct postgresql_store *s, struct pg *pg, void *callback_list)
{
    struct arena arena = {0};
    enum pg_fate fate = read_list(s, pg, callback_list, &arena);
    arena_free(&arena);
    return fate;
}
