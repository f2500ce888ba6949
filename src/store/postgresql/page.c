/* Pages of due callbacks, and what waits in the lanes of an app. What waits has rows of its own in
 * the order of its being due, so a page costs the same however much waits. */
#include "store/postgresql/fetch.h"
#include "store/postgresql/postgresql_store.h"

#include "base/alloc.h"

#include <stdlib.h>

/* Two statements: what is due by then, and when the first behind it is. */
static void ask(struct pg *pg, const struct due_page *page, int *ret_due, int *ret_next)
{
    bool from_start = page->after_due_ms == 0 && page->after_event_no == 0;
    args_int(pg_args(pg), PG_INT8, (int64_t)(page->lane / LANE_KINDS));
    args_int(&pg->args, PG_INT8, (int64_t)page->lane);
    args_int(&pg->args, PG_INT8, from_start ? INT64_MIN : page->after_due_ms);
    args_int(&pg->args, PG_INT8, from_start ? 0 : (int64_t)page->after_event_no);
    args_int(&pg->args, PG_INT8, page->due_until_ms);
    args_int(&pg->args, PG_INT8, (int64_t)page->limit + 1);
#define OF_LANE                                                                                    \
    " FROM waiting WHERE account_no=(SELECT account_no FROM app WHERE app_no=$1) AND lane=$2"      \
    " AND (due_ms,event_no)>($3,$4)"
    *ret_due = pg_query(pg, "SELECT due_ms,event_no,period,account_no" OF_LANE
                            " AND due_ms<=$5 ORDER BY due_ms,event_no LIMIT $6");
    *ret_next = pg_query(pg, "SELECT due_ms" OF_LANE " AND due_ms>$5 ORDER BY due_ms LIMIT 1");
#undef OF_LANE
}

static void empty(struct due_page *page)
{
    page->items = NULL;
    page->count = 0;
    page->more = false;
    page->last_due_ms = page->after_due_ms;
    page->last_event_no = page->after_event_no;
    page->next_due_ms = INT64_MAX;
}

/* What was due and is not any more has become final meanwhile, or has moved: left out. */
static void take_items(struct due_page *page, const struct fetch_key *order, size_t count,
                       const struct fetched *rows)
{
    page->items = xmalloc(count * sizeof(struct callback *) + 1);
    for (size_t i = 0; i < count; i++) {
        const struct row *row = fetched_find(rows, order[i].account_no, order[i].event_no);
        if (row && row->standing.wait == WAIT_DUE && (row->event.body.p || page->brief) &&
            row->standing.place.due_ms <= page->due_until_ms)
            page->items[page->count++] = pg_row_callback(row);
    }
}

static enum pg_fate read_items(struct pg *pg, struct due_page *page, const PGresult *r,
                               struct arena *arena)
{
    size_t found = (size_t)PQntuples(r), count = found;
    if (count > page->limit)
        count = page->limit;
    page->more = found > count;
    if (page->more)
        page->next_due_ms = pg_int(r, (int)count, 0);
    struct fetch_key *keys = arena_alloc(arena, count * sizeof *keys + 1);
    struct fetch_key *order = arena_alloc(arena, count * sizeof *order + 1);
    for (size_t i = 0; i < count; i++) {
        page->last_due_ms = pg_int(r, (int)i, 0);
        page->last_event_no = (uint64_t)pg_int(r, (int)i, 1);
        order[i] = keys[i] = (struct fetch_key){(uint32_t)pg_int(r, (int)i, 3), page->last_event_no,
                                                (int32_t)pg_int(r, (int)i, 2)};
    }
    struct fetched rows;
    enum pg_fate fate = fetch_rows(pg, keys, count, FETCH_UNLOCKED, !page->brief, arena, &rows);
    if (fate == PG_FINE)
        take_items(page, order, count, &rows);
    return fate;
}

enum pg_fate pg_read_page(struct postgresql_store *s, struct pg *pg, void *due_page)
{
    (void)s;
    struct due_page *page = due_page;
    struct arena arena = {0};
    int due, next;
    empty(page);
    pg_begin(pg, true);
    ask(pg, page, &due, &next);
    enum pg_fate fate = pg_sync(pg);
    if (fate == PG_FINE) {
        if (PQntuples(pg_result(pg, next)) > 0)
            page->next_due_ms = pg_int(pg_result(pg, next), 0, 0);
        fate = read_items(pg, page, pg_result(pg, due), &arena);
    }
    if (fate == PG_FINE)
        fate = pg_end_read(pg);
    if (fate != PG_FINE) {
        for (size_t i = 0; i < page->count; i++)
            callback_free(page->items[i]);
        free(page->items);
        empty(page);
    }
    arena_free(&arena);
    return fate;
}

/* --- what waits in an app's lanes ------------------------------------------------------------- */

enum pg_fate pg_read_waiting(struct postgresql_store *s, struct pg *pg, void *lane_waiting)
{
    (void)s;
    struct lane_waiting *w = lane_waiting;
    int oldest[LANE_KINDS] = {0};
    pg_begin(pg, true);
    args_int(pg_args(pg), PG_INT4, w->account_no);
    args_int(&pg->args, PG_INT8, w->app_no);
    int counts = pg_query(pg, "SELECT lane,sum(count)::bigint FROM book WHERE account_no=$1"
                              " AND app_no=$2 AND state=1 GROUP BY lane");
    for (int kind = LANE_NONE + 1; kind < LANE_KINDS; kind++) {
        args_int(pg_args(pg), PG_INT4, w->account_no);
        args_int(&pg->args, PG_INT8, (int64_t)lane_of(w->app_no, (enum lane_kind)kind));
        oldest[kind] = pg_query(pg, "SELECT accepted_ms FROM waiting WHERE account_no=$1"
                                    " AND lane IN($2,-$2) AND pending ORDER BY event_no LIMIT 1");
    }
    enum pg_fate fate = pg_end_read(pg);
    if (fate != PG_FINE)
        return fate;
    for (int i = 0; i < PQntuples(pg_result(pg, counts)); i++)
        w->count[pg_int(pg_result(pg, counts), i, 0)] = pg_int(pg_result(pg, counts), i, 1);
    for (int kind = LANE_NONE + 1; kind < LANE_KINDS; kind++)
        if (PQntuples(pg_result(pg, oldest[kind])) > 0)
            w->oldest_accepted_ms[kind] = pg_int(pg_result(pg, oldest[kind]), 0, 0);
    return PG_FINE;
}
