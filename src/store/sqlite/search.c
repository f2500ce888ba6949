/* An index is read from where all its columns are known. What a search leaves open is tried one
 * by one instead: the account's apps, a handful of types, four states. Each costs one look-up,
 * and what there is in it comes in the order of ids; of all of them the first ones are kept. */
#include "store/sqlite/search.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>

#define IN_INDEX " FROM event INDEXED BY event_search WHERE lane<>0 AND " SCHEMA_SEARCH_KEY

static int64_t search_key(uint32_t account_no, uint32_t app_no, enum event_type type,
                          enum callback_state state)
{
    _Static_assert(EVENT_TYPE_LAST < 1 << (SEARCH_KEY_APP_SHIFT - SEARCH_KEY_TYPE_SHIFT), "bits");
    return (int64_t)((uint64_t)account_no << SEARCH_KEY_ACCOUNT_SHIFT |
                     (uint64_t)app_no << SEARCH_KEY_APP_SHIFT |
                     (uint64_t)type << SEARCH_KEY_TYPE_SHIFT | (uint64_t)state);
}

static const enum callback_state stored_states[] = {CALLBACK_PENDING, CALLBACK_DELIVERED,
                                                    CALLBACK_DEAD, CALLBACK_SKIPPED};

/* The account's next app behind `app_no` that has any callback; 0: there is none. */
static uint32_t next_app(struct sql *q, sqlite3_stmt *s, uint32_t account_no, uint32_t app_no)
{
    sql_bind_int(s, 1, search_key(account_no, app_no, 0, 0) + (1 << SEARCH_KEY_APP_SHIFT));
    sql_bind_int(s, 2, search_key(account_no + 1, 0, 0, 0));
    uint32_t next = sql_row(q, s) ? (uint32_t)sql_int(s, 0) : 0;
    sql_reset(s);
    return next;
}

static sqlite3_stmt *prepare_next_app(struct sql *q)
{
    return sql_prepare(q, "SELECT app_no" IN_INDEX ">=?1 AND " SCHEMA_SEARCH_KEY
                          "<?2 ORDER BY " SCHEMA_SEARCH_KEY " LIMIT 1");
}

/* --- lists ------------------------------------------------------------------------------------ */

struct search_result {
    struct sql *sql;
    sqlite3_stmt *find;
    const struct callback_list *list;
    struct range range; /* narrows as the first ones are known */
    uint64_t *ids;
    size_t count, most;
};

static int ascending(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static int descending(const void *x, const void *y)
{
    return ascending(y, x);
}

static bool is_newest_first(const struct search_result *g)
{
    return g->list->order == LIST_NEWEST_FIRST;
}

/* Keeps the first ones; nothing behind them is of interest any more. */
static void keep_first(struct search_result *g)
{
    if (g->count > 0)
        qsort(g->ids, g->count, sizeof *g->ids, is_newest_first(g) ? descending : ascending);
    if (g->count < g->most)
        return;
    g->count = g->most;
    if (is_newest_first(g))
        g->range.first = g->ids[g->most - 1];
    else
        g->range.last = g->ids[g->most - 1];
}

static void gather(struct search_result *g, uint32_t app_no, enum event_type type,
                   enum callback_state state)
{
    sqlite3_stmt *s = g->find;
    sql_bind_int(s, 1, search_key(g->list->account_no, app_no, type, state));
    sql_bind_int(s, 2, (int64_t)g->range.first);
    sql_bind_int(s, 3, (int64_t)g->range.last);
    sql_bind_int(s, 4, (int64_t)g->most);
    while (sql_row(g->sql, s))
        g->ids[g->count++] = (uint64_t)sql_int(s, 0);
    if (g->count >= g->most)
        keep_first(g);
}

static void gather_app(struct search_result *g, uint32_t app_no)
{
    const struct callback_list *list = g->list;
    for (enum event_type t = EVENT_SURVEY_COMPLETED; t <= EVENT_TYPE_LAST; t++) {
        if (list->type && list->type != t)
            continue;
        for (size_t i = 0; i < ARRAY_LEN(stored_states); i++)
            if ((!list->state || list->state == stored_states[i]) &&
                !(list->undelivered && stored_states[i] == CALLBACK_DELIVERED))
                gather(g, app_no, t, stored_states[i]);
    }
}

size_t search_ids(struct event_lookup *l, const struct callback_list *list, struct range range,
                  uint64_t *ids, size_t most)
{
    struct sql *q = &l->sql;
    struct search_result g = {.sql = q, .list = list, .range = range, .ids = ids, .most = most};
    g.find =
        sql_prepare_f(q, "SELECT id" IN_INDEX "=?1 AND id>=?2 AND id<=?3 ORDER BY id %s LIMIT ?4",
                      is_newest_first(&g) ? "DESC" : "ASC");
    sqlite3_stmt *apps = prepare_next_app(q);
    if (list->app_no)
        gather_app(&g, list->app_no);
    for (uint32_t app_no = 0; !list->app_no;) {
        app_no = next_app(q, apps, list->account_no, app_no);
        if (app_no == 0)
            break;
        gather_app(&g, app_no);
    }
    keep_first(&g);
    sql_finalize(apps);
    sql_finalize(g.find);
    return g.count;
}

/* --- counts ----------------------------------------------------------------------------------- */

static void add_count(struct callback_count *c, uint32_t app_no, int64_t count, size_t *capacity)
{
    size_t at = 0;
    while (at < c->count && c->apps[at].app_no < app_no)
        at++;
    if (at == c->count || c->apps[at].app_no != app_no) {
        c->apps = xgrow(c->apps, capacity, c->count + 1, sizeof *c->apps);
        memmove(&c->apps[at + 1], &c->apps[at], (c->count - at) * sizeof *c->apps);
        c->apps[at] = (struct callback_count_row){app_no, 0};
        c->count++;
    }
    c->apps[at].count += count;
}

static int64_t count_in(struct sql *q, sqlite3_stmt *s)
{
    int64_t count = sql_row(q, s) ? sql_int(s, 0) : 0;
    sql_reset(s);
    return count;
}

void search_count(struct event_lookup *l, struct callback_count *c, enum callback_state state,
                  struct range range, size_t *capacity)
{
    struct sql *q = &l->sql;
    sqlite3_stmt *apps = prepare_next_app(q);
    sqlite3_stmt *s = sql_prepare(q, "SELECT count(*)" IN_INDEX "=?1 AND id>=?2 AND id<=?3"
                                     " AND accepted_ms>=?4 AND accepted_ms<?5");
    sql_bind_int(s, 2, (int64_t)range.first);
    sql_bind_int(s, 3, (int64_t)range.last);
    sql_bind_int(s, 4, c->accepted_from_ms);
    sql_bind_int(s, 5, c->accepted_to_ms);
    for (uint32_t app_no = 0; (app_no = next_app(q, apps, c->account_no, app_no)) != 0;) {
        if (c->app_no && c->app_no != app_no)
            continue;
        int64_t count = 0;
        for (enum event_type t = EVENT_SURVEY_COMPLETED; t <= EVENT_TYPE_LAST; t++) {
            sql_bind_int(s, 1, search_key(c->account_no, app_no, t, state));
            count += count_in(q, s);
        }
        if (count > 0)
            add_count(c, app_no, count, capacity);
    }
    sql_finalize(s);
    sql_finalize(apps);
}

/* --- what waits ------------------------------------------------------------------------------- */

uint64_t search_first_waiting(struct event_lookup *l, uint32_t account_no, uint32_t app_no,
                              enum lane_kind kind)
{
    struct sql *q = &l->sql;
    uint64_t first = 0;
    sqlite3_stmt *s = sql_prepare(q, "SELECT id" IN_INDEX "=?1 ORDER BY id LIMIT 1");
    for (enum event_type t = EVENT_SURVEY_COMPLETED; t <= EVENT_TYPE_LAST; t++) {
        if (event_lane(t) != kind)
            continue;
        sql_bind_int(s, 1, search_key(account_no, app_no, t, CALLBACK_PENDING));
        uint64_t id = sql_row(q, s) ? (uint64_t)sql_int(s, 0) : 0;
        sql_reset(s);
        if (id != 0 && (first == 0 || id < first))
            first = id;
    }
    sql_finalize(s);
    return first;
}
