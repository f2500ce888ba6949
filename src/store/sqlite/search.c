/* A set can be read only by its whole key. If a search does not name the app, the type or the
 * state, the set of each possible value is read: all apps of the account, a few types, four states.
 * Each set costs one look-up, which returns ids in order. The first ids of all sets are kept. */
#include "store/sqlite/search.h"

#include "base/alloc.h"

#include <stdlib.h>

#include "store/sqlite/search_set.h"

static const enum callback_state stored_states[] = {CALLBACK_PENDING, CALLBACK_DELIVERED,
                                                    CALLBACK_DEAD, CALLBACK_SKIPPED};

/* The account's next app after `app_no` with any callback; 0: there is none. */
static uint32_t next_app(struct sql *q, sqlite3_stmt *s, uint32_t account_no, uint32_t app_no)
{
    sql_bind_int(s, 1, (int64_t)search_key(account_no, app_no + 1, 0, 0));
    sql_bind_int(s, 2, (int64_t)search_key(account_no + 1, 0, 0, 0));
    uint32_t next = sql_row(q, s) ? (uint32_t)(sql_int(s, 0) >> SEARCH_KEY_APP_SHIFT) : 0;
    sql_reset(s);
    return next;
}

static sqlite3_stmt *prepare_next_app(struct sql *q)
{
    return sql_prepare(q, "SELECT key FROM search WHERE key>=? AND key<? ORDER BY key LIMIT 1");
}

/* The rows of a set, with their first event number. */
static sqlite3_stmt *prepare_rows(struct sql *q, const char *direction)
{
    return sql_prepare_f(q,
                         "SELECT block<<%d,events FROM search"
                         " WHERE key=? AND block>=? AND block<=? ORDER BY block %s",
                         SEARCH_BLOCK_BITS, direction);
}

static void bind_rows(sqlite3_stmt *s, uint64_t key, struct range range)
{
    sql_bind_int(s, 1, (int64_t)key);
    sql_bind_int(s, 2, (int64_t)(event_no_of_id(range.first) >> SEARCH_BLOCK_BITS));
    sql_bind_int(s, 3, (int64_t)(event_no_of_id(range.last) >> SEARCH_BLOCK_BITS));
}

/* --- lists ------------------------------------------------------------------------------------ */

struct search_result {
    struct sql *sql;
    sqlite3_stmt *find;
    const struct callback_list *list;
    struct range range; /* shrinks when the first `most` ids are known */
    uint64_t *ids;
    size_t count, most;
};

static bool is_newest_first(const struct search_result *g)
{
    return g->list->order == LIST_NEWEST_FIRST;
}

/* Keeps the first ones and narrows the range to them. */
static void keep_first(struct search_result *g)
{
    if (g->count > 0)
        qsort(g->ids, g->count, sizeof *g->ids,
              is_newest_first(g) ? sort_compare_numbers_descending : sort_compare_numbers);
    if (g->count < g->most)
        return;
    g->count = g->most;
    if (is_newest_first(g))
        g->range.first = g->ids[g->most - 1];
    else
        g->range.last = g->ids[g->most - 1];
}

/* Stops when there are `end` ids in total. */
static void gather_row(struct search_result *g, uint64_t first_no, struct str row, size_t end)
{
    uint16_t offsets[SEARCH_BLOCK_EVENTS];
    size_t count = search_block_offsets(row, offsets);
    for (size_t i = 0; i < count && g->count < end; i++) {
        unsigned offset = offsets[is_newest_first(g) ? count - 1 - i : i];
        uint64_t id = event_id_of(g->list->account_no, first_no + offset);
        if (id >= g->range.first && id <= g->range.last)
            g->ids[g->count++] = id;
    }
}

static void gather(struct search_result *g, uint32_t app_no, enum event_type type,
                   enum callback_state state)
{
    size_t end = g->count + g->most;
    sqlite3_stmt *s = g->find;
    bind_rows(s, search_key(g->list->account_no, app_no, type, state), g->range);
    while (g->count < end && sql_row(g->sql, s))
        gather_row(g, (uint64_t)sql_int(s, 0), sql_str(s, 1), end);
    sql_reset(s);
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
    g.find = prepare_rows(q, is_newest_first(&g) ? "DESC" : "ASC");
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

/* Counts one set. After a clock was put back the range has other events too, so each time is
 * checked. */
static int64_t count_set(struct event_lookup *l, const struct callback_count *c, sqlite3_stmt *rows,
                         sqlite3_stmt *accepted, struct range range)
{
    struct sql *q = &l->sql;
    uint16_t offsets[SEARCH_BLOCK_EVENTS];
    int64_t count = 0;
    while (sql_row(q, rows)) {
        uint64_t first = event_id_of(c->account_no, (uint64_t)sql_int(rows, 0));
        size_t in_row = search_block_offsets(sql_str(rows, 1), offsets);
        for (size_t i = 0; i < in_row; i++) {
            uint64_t id = first + offsets[i];
            if (id < range.first || id > range.last)
                continue;
            sql_bind_int(accepted, 1, (int64_t)id);
            count += sql_row(q, accepted) && sql_int(accepted, 0) >= c->accepted_from_ms &&
                     sql_int(accepted, 0) < c->accepted_to_ms;
            sql_reset(accepted);
        }
    }
    return count;
}

void search_count(struct event_lookup *l, struct callback_count *c, enum callback_state state,
                  struct range range, size_t *capacity)
{
    struct sql *q = &l->sql;
    sqlite3_stmt *apps = prepare_next_app(q), *rows = prepare_rows(q, "ASC");
    sqlite3_stmt *accepted = sql_prepare(q, "SELECT accepted_ms FROM event WHERE id=?");
    for (uint32_t app_no = 0; (app_no = next_app(q, apps, c->account_no, app_no)) != 0;) {
        if (c->app_no && c->app_no != app_no)
            continue;
        int64_t count = 0;
        for (enum event_type t = EVENT_SURVEY_COMPLETED; t <= EVENT_TYPE_LAST; t++) {
            bind_rows(rows, search_key(c->account_no, app_no, t, state), range);
            count += count_set(l, c, rows, accepted, range);
        }
        if (count > 0)
            add_count(c, app_no, count, capacity);
    }
    sql_finalize(accepted);
    sql_finalize(rows);
    sql_finalize(apps);
}

/* --- waiting callbacks ------------------------------------------------------------------------ */

/* The first event of a set that is in the lane: tests of the same type may be in another lane. */
static uint64_t first_of_lane(struct sql *q, sqlite3_stmt *rows, sqlite3_stmt *lane_of_event,
                              uint32_t account_no, enum lane_kind kind)
{
    uint16_t offsets[SEARCH_BLOCK_EVENTS];
    uint64_t found = 0;
    while (found == 0 && sql_row(q, rows)) {
        uint64_t first = event_id_of(account_no, (uint64_t)sql_int(rows, 0));
        size_t count = search_block_offsets(sql_str(rows, 1), offsets);
        for (size_t i = 0; i < count && found == 0; i++) {
            sql_bind_int(lane_of_event, 1, (int64_t)(first + offsets[i]));
            if (sql_row(q, lane_of_event) && sql_int(lane_of_event, 0) == (int64_t)kind)
                found = first + offsets[i];
            sql_reset(lane_of_event);
        }
    }
    sql_reset(rows);
    return found;
}

/* Tests are found by the due and held-back rows of their lane, because few of them may wait among
 * millions of real events. */
static uint64_t first_test_waiting(struct sql *q, uint32_t app_no)
{
    sqlite3_stmt *s = sql_prepare_f(
        q,
        "SELECT min(id) FROM (SELECT event.id FROM due CROSS JOIN event ON event.id=due.id"
        " WHERE due.lane=?1 AND event.state=%d UNION ALL"
        " SELECT id FROM event INDEXED BY event_held WHERE app_no=?2 AND lane=%d AND queue=2)",
        CALLBACK_PENDING, LANE_TEST);
    sql_bind_int(s, 1, (int64_t)lane_of(app_no, LANE_TEST));
    sql_bind_int(s, 2, app_no);
    uint64_t first = sql_row(q, s) ? (uint64_t)sql_int(s, 0) : 0;
    sql_finalize(s);
    return first;
}

uint64_t search_first_waiting(struct event_lookup *l, uint32_t account_no, uint32_t app_no,
                              enum lane_kind kind)
{
    struct sql *q = &l->sql;
    uint64_t first = 0;
    struct range all = {event_id_of(account_no, 0), event_id_of(account_no, EVENT_NO_LAST)};
    if (kind == LANE_TEST)
        return first_test_waiting(q, app_no);
    sqlite3_stmt *rows = prepare_rows(q, "ASC");
    sqlite3_stmt *lane_of_event = sql_prepare(q, "SELECT lane FROM event WHERE id=?");
    for (enum event_type t = EVENT_SURVEY_COMPLETED; t <= EVENT_TYPE_LAST; t++) {
        if (event_lane(t) != kind)
            continue;
        bind_rows(rows, search_key(account_no, app_no, t, CALLBACK_PENDING), all);
        uint64_t id = first_of_lane(q, rows, lane_of_event, account_no, kind);
        first = id != 0 && (first == 0 || id < first) ? id : first;
    }
    sql_finalize(lane_of_event);
    sql_finalize(rows);
    return first;
}
