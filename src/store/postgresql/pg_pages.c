/* Pages of due callbacks. Waiting callbacks have rows of their own, ordered by due time, so a page
 * costs the same however many callbacks wait. */
#include "store/postgresql/pg_pages.h"

#include "base/alloc.h"
#include "store/postgresql/fetch_rows.h"

#include <stdlib.h>

/* Pages that are read together: two statements for all of them, and one for each partition with
 * rows. */
struct paging {
    struct pg *pg;
    struct due_page **pages;
    size_t count;
    struct arena arena;
    struct fetch_key *order; /* the due callbacks, page by page */
    size_t *first; /* index of each page's first in `order`, and the end of the last page */
};

static void gather(struct paging *p, const struct request_list *requests)
{
    for (const struct request *r = requests->first; r; r = r->next)
        p->count++;
    p->pages = arena_alloc(&p->arena, p->count * sizeof(struct due_page *) + 1);
    p->first = arena_zalloc(&p->arena, (p->count + 1) * sizeof *p->first);
    size_t n = 0;
    for (const struct request *r = requests->first; r; r = r->next)
        p->pages[n++] = r->what;
}

static void empty(struct due_page *page)
{
    page->items = NULL;
    page->count = 0;
    page->more = false;
    page->last = page->after;
    page->next_due_ms = INT64_MAX;
}

/* Two statements: the callbacks that are due, and the due time of the first one that is not. */
static void ask(struct paging *p, int *ret_due, int *ret_next)
{
    struct pg_table t = {0};
    table_begin(&t, "illllll");
    for (size_t i = 0; i < p->count; i++) {
        const struct due_page *page = p->pages[i];
        bool from_start = scan_cursor_is_start(page->after);
        struct pg_column *c = t.columns;
        column_int(c++, (int64_t)i);
        column_int(c++, lane_app_no(page->lane));
        column_int(c++, (int64_t)page->lane);
        column_int(c++, from_start ? INT64_MIN : page->after.due_ms);
        column_int(c++, from_start ? 0 : (int64_t)page->after.event_no);
        column_int(c++, page->due_until_ms);
        column_int(c++, (int64_t)page->limit + 1);
    }
    args_table(pg_args(p->pg), &t);
    table_free(&t);
#define OF_LANES(columns)                                                                          \
    " FROM unnest($1,$2,$3,$4,$5,$6,$7) AS u(i,app,lane,due,no,until,most) CROSS JOIN LATERAL"     \
    " (SELECT " columns " FROM waiting WHERE account_no=(SELECT account_no FROM app WHERE"         \
    " app_no=u.app) AND lane=u.lane AND (due_ms,event_no)>(u.due,u.no)"
    *ret_due = pg_query(
        p->pg, "SELECT u.i,w.*" OF_LANES(
                   "due_ms,event_no,period,account_no") " AND due_ms<=u.until ORDER BY "
                                                        "due_ms,event_no LIMIT u.most) w"
                                                        " ORDER BY u.i,w.due_ms,w.event_no");
    *ret_next = pg_query(p->pg, "SELECT u.i,w.due_ms" OF_LANES(
                                    "due_ms") " AND due_ms>u.until ORDER BY due_ms LIMIT 1) w");
#undef OF_LANES
}

/* Takes the rows of one page from `at` on. Returns where the next page's rows begin. */
static int take_due(struct paging *p, size_t which, const PGresult *r, int at)
{
    struct due_page *page = p->pages[which];
    size_t n = p->first[which], count = 0;
    for (; at < PQntuples(r) && pg_int(r, at, 0) == (int64_t)which; at++) {
        int64_t due_ms = pg_int(r, at, 1);
        page->more = count == page->limit; /* then this row is the first one after the page */
        if (page->more) {
            page->next_due_ms = due_ms;
            continue;
        }
        count++;
        page->last.due_ms = due_ms;
        page->last.event_no = (uint64_t)pg_int(r, at, 2);
        p->order[n++] = (struct fetch_key){(uint32_t)pg_int(r, at, 4), page->last.event_no,
                                           (int32_t)pg_int(r, at, 3)};
    }
    p->first[which + 1] = n;
    return at;
}

static void take_answers(struct paging *p, const PGresult *due, const PGresult *next)
{
    p->order = arena_alloc(&p->arena, (size_t)PQntuples(due) * sizeof *p->order + 1);
    for (int i = 0; i < PQntuples(next); i++)
        p->pages[pg_int(next, i, 0)]->next_due_ms = pg_int(next, i, 1);
    int at = 0;
    for (size_t i = 0; i < p->count; i++)
        at = take_due(p, i, due, at);
    ASSERT(at == PQntuples(due)); /* both are ordered by page */
}

/* Leaves out callbacks that have become final or moved since the first statement. */
static void take_items(struct due_page *page, const struct fetch_key *order, size_t count,
                       const struct fetched *rows)
{
    page->items = xmalloc(count * sizeof(struct callback *) + 1);
    for (size_t i = 0; i < count; i++) {
        const struct pg_row *row = fetched_find(rows, order[i].account_no, order[i].event_no);
        if (row && row->callback.life.wait == WAIT_DUE && (row->event.body.p || page->brief) &&
            row->callback.life.place.due_ms <= page->due_until_ms)
            page->items[page->count++] = pg_row_callback(row);
    }
}

static enum pg_fate read_items(struct paging *p, bool brief)
{
    size_t count = p->first[p->count];
    struct fetch_key *keys = arena_alloc(&p->arena, count * sizeof *keys + 1);
    struct fetched rows;
    if (count > 0)
        memcpy(keys, p->order, count * sizeof *keys);
    enum pg_fate fate = fetch_rows(p->pg, keys, count, FETCH_UNLOCKED, !brief, &p->arena, &rows);
    for (size_t i = 0; fate == PG_OK && i < p->count; i++)
        take_items(p->pages[i], p->order + p->first[i], p->first[i + 1] - p->first[i], &rows);
    return fate;
}

static enum pg_fate read_pages(struct paging *p)
{
    int due, next;
    pg_begin(p->pg, true);
    ask(p, &due, &next);
    enum pg_fate fate = pg_sync(p->pg);
    if (fate != PG_OK)
        return fate;
    take_answers(p, pg_result(p->pg, due), pg_result(p->pg, next));
    fate = read_items(p, p->pages[0]->brief);
    return fate == PG_OK ? pg_end_read(p->pg) : fate;
}

enum pg_fate pg_read_pages(struct postgresql_store *s, struct pg *pg, void *request_list)
{
    (void)s;
    struct paging p = {.pg = pg};
    gather(&p, request_list);
    for (size_t i = 0; i < p.count; i++)
        empty(p.pages[i]);
    enum pg_fate fate = read_pages(&p);
    for (size_t i = 0; fate != PG_OK && i < p.count; i++) {
        for (size_t k = 0; k < p.pages[i]->count; k++)
            callback_free(p.pages[i]->items[k]);
        free(p.pages[i]->items);
        empty(p.pages[i]);
    }
    arena_free(&p.arena);
    return fate;
}
