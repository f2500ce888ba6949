/* One statement for each partition, with the partition's number in the text, so that the planner
 * plans for that one. Rows are locked in the order of their keys. */
#include "store/postgresql/fetch_rows.h"

#include "base/alloc.h"
#include "store/postgresql/key_page.h"
#include "store/postgresql/postgresql_store.h"

#include <stdlib.h>

static int by_place(const void *a, const void *b)
{
    const struct fetch_key *x = a, *y = b;
    if (x->period != y->period)
        return x->period < y->period ? -1 : 1;
    if (x->account_no != y->account_no)
        return x->account_no < y->account_no ? -1 : 1;
    return (x->event_no > y->event_no) - (x->event_no < y->event_no);
}

static int compare_row(const struct pg_row *row, uint32_t account_no, uint64_t event_no)
{
    if (row->event.account_no != account_no)
        return row->event.account_no < account_no ? -1 : 1;
    return (row->event.event_no > event_no) - (row->event.event_no < event_no);
}

static int by_number(const void *a, const void *b)
{
    const struct pg_row *y = b;
    return compare_row(a, y->event.account_no, y->event.event_no);
}

static void add_keys(struct pg_table *t, const struct fetch_key *keys, size_t count)
{
    table_begin(t, "il");
    for (size_t i = 0; i < count; i++) {
        column_int(&t->columns[0], keys[i].account_no);
        column_int(&t->columns[1], (int64_t)keys[i].event_no);
    }
}

static enum pg_fate find_periods(struct pg *pg, struct fetch_key *keys, size_t count)
{
    struct pg_table t = {0};
    bool known = true;
    for (size_t i = 0; i < count; i++)
        known &= keys[i].period != FETCH_PERIOD_UNKNOWN;
    if (known)
        return PG_OK;
    add_keys(&t, keys, count);
    args_table(pg_args(pg), &t);
    table_free(&t);
    int at =
        pg_query_prepared(pg, "SELECT u.i," PERIOD_OF_EVENT(
                                  "u.a", "u.n") " FROM unnest($1,$2) WITH ORDINALITY AS u(a,n,i)");
    enum pg_fate fate = pg_sync(pg);
    if (fate != PG_OK)
        return fate;
    const PGresult *r = pg_result(pg, at);
    for (int i = 0; i < PQntuples(r); i++)
        if (!pg_is_null(r, i, 1))
            keys[pg_int(r, i, 0) - 1].period = (int32_t)pg_int(r, i, 1);
    return PG_OK;
}

static void keep_row(struct fetched *f, const PGresult *r, int at, struct arena *arena)
{
    struct pg_row *row = &f->rows[f->count++];
    pg_row_read(r, at, row);
    (void)!pg_row_keep(row, arena); /* without its body a callback is not sent; all others go on */
}

static size_t drop_doubles(struct fetch_key *keys, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (n == 0 || by_place(&keys[n - 1], &keys[i]) != 0)
            keys[n++] = keys[i];
    return n;
}

/* The keys must be in one period. */
static enum pg_fate fetch_period(struct pg *pg, const struct fetch_key *keys, size_t count,
                                 enum fetch_lock lock, bool with_body, struct arena *arena,
                                 struct fetched *f)
{
    static const char *const locks[] = {"OFFSET 0", "FOR SHARE", "FOR UPDATE"};
    struct pg_table t = {0};
    struct buf body = {0};
    add_keys(&t, keys, count);
    args_table(pg_args(pg), &t);
    table_free(&t);
    if (with_body)
        buf_printf(&body,
                   " LEFT JOIN LATERAL (SELECT body FROM body WHERE account_no=e.account_no"
                   " AND event_no=e.event_no AND period=%d OFFSET 0) AS b ON true",
                   keys->period);
    /* LATERAL with OFFSET or FOR keeps the planner from reordering: the rows are read key by key,
     * in order. The statement names the table and not the partition, because a schema change locks
     * the table first, too. */
    int at = pg_query_prepared_f(
        pg,
        "SELECT %s FROM unnest($1,$2) AS u(a,n) CROSS JOIN LATERAL (SELECT * FROM"
        " event WHERE account_no=u.a AND event_no=u.n AND period=%d %s) AS e%s",
        with_body ? ROW_WITH_BODY : ROW_WITHOUT_BODY, keys->period, locks[lock], buf_c(&body));
    buf_free(&body);
    enum pg_fate fate = pg_sync(pg);
    for (int i = 0; fate == PG_OK && i < PQntuples(pg_result(pg, at)); i++)
        keep_row(f, pg_result(pg, at), i, arena);
    return fate;
}

/* Locks the rows of `waiting` of callbacks that wait for their first attempt: an outcome of it
 * locks nothing else. If the row is gone, that outcome has been recorded meanwhile, and has
 * delivered the callback. */
static enum pg_fate lock_first_attempts(struct pg *pg, const struct fetched *f,
                                        enum fetch_lock lock)
{
    struct pg_table t = {0};
    table_begin(&t, "lilll");
    for (size_t i = 0; i < f->count; i++) {
        const struct event *e = &f->rows[i].event;
        if (!f->rows[i].presumed || f->rows[i].callback.life.state != CALLBACK_PENDING)
            continue;
        column_int(&t.columns[0], (int64_t)i);
        column_int(&t.columns[1], e->account_no);
        column_int(&t.columns[2], (int64_t)lane_of(e->app_no, e->lane));
        column_int(&t.columns[3], f->rows[i].callback.life.place.due_ms);
        column_int(&t.columns[4], (int64_t)e->event_no);
    }
    enum pg_fate fate = PG_OK;
    if (table_rows(&t) > 0) {
        args_table(pg_args(pg), &t);
        int at = pg_query_prepared_f(
            pg,
            "SELECT u.i,w.one IS NULL FROM unnest($1,$2,$3,$4,$5) AS u(i,a,l,d,n) LEFT JOIN LATERAL"
            " (SELECT 1 AS one FROM waiting WHERE account_no=u.a AND lane=u.l AND due_ms=u.d"
            " AND event_no=u.n FOR %s) AS w ON true",
            lock == FETCH_SHARED ? "SHARE" : "UPDATE");
        fate = pg_sync(pg);
        for (int i = 0; fate == PG_OK && i < PQntuples(pg_result(pg, at)); i++)
            if (pg_int(pg_result(pg, at), i, 1))
                pg_row_deliver_presumed(&f->rows[pg_int(pg_result(pg, at), i, 0)]);
    }
    table_free(&t);
    return fate;
}

enum pg_fate fetch_rows(struct pg *pg, struct fetch_key *keys, size_t count, enum fetch_lock lock,
                        bool with_body, struct arena *arena, struct fetched *ret)
{
    *ret = (struct fetched){0};
    if (count == 0)
        return PG_OK;
    enum pg_fate fate = find_periods(pg, keys, count);
    if (fate != PG_OK)
        return fate;
    qsort(keys, count, sizeof *keys, by_place);
    count = drop_doubles(keys, count);
    ret->rows = arena_alloc(arena, count * sizeof *ret->rows);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && keys[end].period == keys[first].period; end++)
            ;
        if (keys[first].period == FETCH_PERIOD_UNKNOWN)
            continue; /* no such event */
        fate = fetch_period(pg, keys + first, end - first, lock, with_body, arena, ret);
        if (fate != PG_OK)
            return fate;
    }
    fetched_sort(ret);
    bool locks = lock == FETCH_SHARED || lock == FETCH_FOR_UPDATE;
    return locks ? lock_first_attempts(pg, ret, lock) : PG_OK;
}

void fetched_sort(struct fetched *f)
{
    if (f->count)
        qsort(f->rows, f->count, sizeof *f->rows, by_number);
}

struct pg_row *fetched_find(const struct fetched *f, uint32_t account_no, uint64_t event_no)
{
    size_t first = 0, end = f->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        int order = compare_row(&f->rows[middle], account_no, event_no);
        if (order == 0)
            return &f->rows[middle];
        if (order < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

enum pg_fate pg_find_key(struct postgresql_store *s, struct pg *pg, uint32_t account_no,
                         struct str event_id, struct fetch_key *ret, bool *ret_found)
{
    *ret_found = false;
    if (event_id.n > LIMIT_EVENT_ID_BYTES)
        return PG_OK;
    args_int(pg_args(pg), PG_INT4, account_no);
    args_key(&pg->args, event_key(&s->identity.secret, account_no, event_id));
    int at = pg_query(pg, "SELECT k.event_no," PERIOD_OF_EVENT(
                              "$1", "k.event_no") " FROM " FIND_KEY("$1", "$2") " k");
    enum pg_fate fate = pg_sync(pg);
    if (fate != PG_OK)
        return fate;
    const PGresult *r = pg_result(pg, at);
    *ret_found = PQntuples(r) > 0;
    if (*ret_found)
        *ret = (struct fetch_key){account_no, (uint64_t)pg_int(r, 0, 0), (int32_t)pg_int(r, 0, 1)};
    return PG_OK;
}
