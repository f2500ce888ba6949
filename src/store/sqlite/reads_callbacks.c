/* The log of callbacks: one callback with its attempts, and lists by every filter. A list is found
 * by RewardId or PanelistId, otherwise by app, type and state (search.h); the other filters are
 * applied row by row. */
#include "store/sqlite/reads_callbacks.h"

#include "base/alloc.h"
#include "domain/clock.h"
#include "store/sqlite/accepted.h"
#include "store/sqlite/attempt_block.h"
#include "store/sqlite/bundle.h"
#include "store/sqlite/panelists.h"
#include "store/sqlite/search.h"
#include "store/sqlite/sqlite_store.h"

#include <inttypes.h>
#include <stdlib.h>

/* Rows that a list scans before it uses the search. */
#define ROWS_BEFORE_SEARCH 8192

static void fill_row(struct event_lookup *l, struct event_row *row, bool with_body,
                     struct arena *arena, struct callback_row *ret)
{
    event_keep(&row->event, arena);
    if (with_body)
        row->event.body = lookup_body(l, row->id, row->segment, arena);
    *ret = callback_row_of(&row->event, &row->life);
}

/* --- one callback ----------------------------------------------------------------------------- */

struct log_reading {
    struct event_lookup *lookup;
    struct arena *arena;
    struct callback_row *row;
    size_t capacity;
    uint64_t id;
};

static void keep_attempt(void *context, const struct attempt *a)
{
    struct log_reading *reading = context;
    struct callback_row *row = reading->row;
    *ARRAY_PUSH(row->log, row->log_count, reading->capacity) = *a;
}

/* All days are searched, as they are few: after a clock was put back, attempts may be on days
 * before the acceptance. */
static sqlite3_stmt *prepare_days(struct sql *q)
{
    return sql_prepare(q, "SELECT name FROM sqlite_schema WHERE type='table'"
                          " AND name GLOB 'attempts_*'");
}

/* A statement for the next day's blocks, which the caller finalizes; NULL: no more days. */
static sqlite3_stmt *next_day(struct sql *q, sqlite3_stmt *days)
{
    if (!sql_row(q, days))
        return NULL;
    struct str table = sql_str(days, 0);
    return sql_prepare_f(q, "SELECT attempts FROM %.*s WHERE block=?", STR_ARG(table));
}

static void read_day(struct log_reading *reading, sqlite3_stmt *day)
{
    const struct event *e = &reading->row->event;
    struct attempt_facts facts = {e->event_id, e->occurred_ms};
    sql_bind_int(day, 1, (int64_t)(reading->id >> ATTEMPT_BLOCK_BITS));
    if (sql_row(&reading->lookup->sql, day))
        attempt_block_read(sql_str(day, 0), reading->id, &facts, reading->arena, keep_attempt,
                           reading);
    sql_reset(day);
}

static void read_attempts(struct event_lookup *l, uint64_t id, struct arena *arena,
                          struct callback_row *row)
{
    struct log_reading reading = {.lookup = l, .arena = arena, .row = row, .id = id};
    sqlite3_stmt *days = prepare_days(&l->sql), *day;
    while ((day = next_day(&l->sql, days)) != NULL) {
        read_day(&reading, day);
        sql_finalize(day);
    }
    sql_finalize(days);
    struct attempt *kept = arena_alloc(arena, row->log_count * sizeof *kept + 1);
    if (row->log_count > 0) {
        memcpy(kept, row->log, row->log_count * sizeof *kept);
        qsort(kept, row->log_count, sizeof *kept, attempt_compare);
    }
    free(row->log);
    row->log = kept;
}

enum store_status read_callback(struct event_lookup *l, uint64_t id, struct callback_get *get)
{
    struct event_row row;
    if (id == 0 || !lookup_row(l, id, &row))
        return STORE_NOT_FOUND;
    bool owes = row.event.lane != LANE_NONE;
    if (owes)
        fill_row(l, &row, true, &get->arena, &get->row);
    sql_reset(l->row);
    if (!owes)
        return STORE_NOT_FOUND;
    read_attempts(l, id, &get->arena, &get->row);
    return STORE_OK;
}

/* --- lists ------------------------------------------------------------------------------------ */

static struct range list_range(struct event_lookup *l, const struct callback_list *list)
{
    uint64_t low = 1, high = lookup_last_event_no(l, list->account_no);
    if (list->has_from || list->has_to) {
        struct range accepted = accepted_between(
            &l->sql, list->account_no, list->has_from ? list->accepted_from_ms : INT64_MIN,
            list->has_to ? list->accepted_to_ms : INT64_MAX);
        if (accepted.first > accepted.last)
            return accepted;
        low = event_no_of_id(accepted.first);
        high = event_no_of_id(accepted.last);
    }
    bool newest = list->order == LIST_NEWEST_FIRST;
    if (list->after_event_no != 0 && newest && list->after_event_no <= high)
        high = list->after_event_no - 1;
    if (list->after_event_no != 0 && !newest && list->after_event_no >= low)
        low = list->after_event_no + 1;
    if (low > EVENT_NO_LAST)
        return (struct range){1, 0};
    return (struct range){event_id_of(list->account_no, low), event_id_of(list->account_no, high)};
}

static bool is_listed(const struct callback_list *list, const struct event_row *row)
{
    const struct event *e = &row->event;
    return (e->lane != LANE_NONE || list->all_events) && (!list->type || list->type == e->type) &&
           (!list->state ||
            list->state == callback_list_state(list, e->event_no, row->life.state)) &&
           !(list->undelivered && row->life.state == CALLBACK_DELIVERED) &&
           (!list->app_no || list->app_no == e->app_no) &&
           (!list->has_from || e->accepted_ms >= list->accepted_from_ms) &&
           (!list->has_to || e->accepted_ms < list->accepted_to_ms) &&
           (!list->of_day || list->day == clock_day(e->occurred_ms)) &&
           (!list->panelist_id.p || str_eq(list->panelist_id, e->panelist_id));
}

/* False: the list is full. */
static bool add_row(struct event_lookup *l, struct callback_list *list, struct event_row *row)
{
    if (!is_listed(list, row))
        return true;
    list->more = list->count == list->limit;
    if (list->more)
        return false;
    struct callback_row *to = &list->rows[list->count++];
    fill_row(l, row, !list->no_bodies, &list->arena, to);
    if (callback_list_state(list, to->event.event_no, to->state) == CALLBACK_DELIVERING)
        callback_row_set_tried(to);
    return true;
}

static const char *direction(const struct callback_list *list)
{
    return list->order == LIST_NEWEST_FIRST ? "DESC" : "ASC";
}

/* The part of a range after an id. */
static struct range range_behind(const struct callback_list *list, struct range range, uint64_t id)
{
    if (list->order == LIST_NEWEST_FIRST)
        range.last = id - 1;
    else
        range.first = id + 1;
    return range;
}

static bool list_statement(struct event_lookup *l, struct callback_list *list, sqlite3_stmt *s)
{
    bool more = true;
    struct event_row row;
    while (more && sql_row(&l->sql, s)) {
        row_read(s, &row);
        more = add_row(l, list, &row);
    }
    sql_finalize(s);
    return more;
}

/* False: the list is full. */
static bool add_found(struct event_lookup *l, struct callback_list *list, const uint64_t *ids,
                      size_t count)
{
    bool more = true;
    struct event_row row;
    for (size_t i = 0; more && i < count; i++)
        more = !lookup_row(l, ids[i], &row) || add_row(l, list, &row);
    sql_reset(l->row);
    return more;
}

/* Finds rows by app, type or state; if `of` is not NULL, a panelist's rows in one set instead. Some
 * may be left out because of their time of acceptance, or because they are being delivered: then
 * the search goes on. */
static bool list_by_search(struct event_lookup *l, struct callback_list *list, struct range range,
                           struct panelist_query *of)
{
    size_t most = list->limit + 1, found = most;
    uint64_t *ids = xmalloc(2 * most * sizeof *ids);
    bool more = true;
    while (more && found == most && range.first <= range.last) {
        if (of)
            of->range = range;
        found = of ? panelist_ids(&l->sql, of, ids, most) : search_ids(l, list, range, ids, most);
        more = add_found(l, list, ids, found);
        if (found > 0)
            range = range_behind(list, range, ids[found - 1]);
    }
    free(ids);
    return more;
}

/* Without a filter the first rows are usually adjacent, so they are scanned. If they are not,
 * because millions of events have no callback, the search finds those with a callback. A list of
 * all events cannot use the search. */
static bool list_by_range(struct event_lookup *l, struct callback_list *list, struct range range)
{
    if (range.first > range.last)
        return true;
    sqlite3_stmt *s = sql_prepare_f(&l->sql,
                                    "SELECT " ROW_COLUMNS " FROM event NOT INDEXED"
                                    " WHERE id>=? AND id<=? ORDER BY id %s LIMIT ?",
                                    direction(list));
    sql_bind_int(s, 1, (int64_t)range.first);
    sql_bind_int(s, 2, (int64_t)range.last);
    sql_bind_int(s, 3, list->all_events ? -1 : ROWS_BEFORE_SEARCH);
    bool more = true;
    struct event_row row = {0};
    int seen = 0;
    for (; more && sql_row(&l->sql, s); seen++) {
        row_read(s, &row);
        more = add_row(l, list, &row);
    }
    sql_finalize(s);
    if (!more || list->all_events || seen < ROWS_BEFORE_SEARCH)
        return more;
    return list_by_search(l, list, range_behind(list, range, row.id), NULL);
}

/* Events that were accepted on the day itself are adjacent; those accepted on another day are found
 * by their index, which comes before or after. */
#define LATE_ROWS                                                                                  \
    "SELECT " ROW_COLUMNS " FROM event INDEXED BY event_late WHERE " ACCOUNT_OF_ID_SQL "=?"        \
    " AND " SCHEMA_EVENT_DAY "=? AND " SCHEMA_EVENT_IS_LATE " AND id>=? AND id<=? ORDER BY id"

static bool list_late(struct event_lookup *l, struct callback_list *list, struct range range)
{
    if (range.first > range.last)
        return true;
    static const char oldest_first[] = LATE_ROWS " ASC", newest_first[] = LATE_ROWS " DESC";
    sqlite3_stmt *s =
        sql_prepare(&l->sql, list->order == LIST_NEWEST_FIRST ? newest_first : oldest_first);
    sql_bind_int(s, 1, list->account_no);
    sql_bind_int(s, 2, list->day);
    sql_bind_int(s, 3, (int64_t)range.first);
    sql_bind_int(s, 4, (int64_t)range.last);
    return list_statement(l, list, s);
}

static void list_by_day(struct event_lookup *l, struct callback_list *list, struct range range)
{
    struct range day = accepted_on(&l->sql, list->account_no, list->day);
    struct range before = {range.first, day.first - 1 < range.last ? day.first - 1 : range.last};
    struct range behind = {day.last + 1 > range.first ? day.last + 1 : range.first, range.last};
    struct range within = {day.first > range.first ? day.first : range.first,
                           day.last < range.last ? day.last : range.last};
    if (list->order == LIST_OLDEST_FIRST)
        (void)(list_late(l, list, before) && list_by_range(l, list, within) &&
               list_late(l, list, behind));
    else
        (void)(list_late(l, list, behind) && list_by_range(l, list, within) &&
               list_late(l, list, before));
}

/* Callbacks being delivered are few, and stored as pending. */
static void list_tried(struct event_lookup *l, struct callback_list *list, struct range range)
{
    bool more = true;
    struct event_row row;
    for (size_t i = 0; more && i < list->tried_count; i++) {
        size_t at = list->order == LIST_NEWEST_FIRST ? list->tried_count - 1 - i : i;
        uint64_t id = event_id_of(list->account_no, list->tried[at]);
        if (id >= range.first && id <= range.last && lookup_row(l, id, &row))
            more = add_row(l, list, &row);
    }
    sql_reset(l->row);
}

static void list_by_panelist(struct event_lookup *l, const struct hash_secret *secret,
                             struct callback_list *list, struct range range)
{
    if (list->panelist_id.n > LIMIT_PANELIST_ID_BYTES)
        return;
    struct panelist_query of = {
        .hash = panelist_key(secret, list->account_no, list->panelist_id).hi,
        .newest_first = list->order == LIST_NEWEST_FIRST,
    };
    sqlite3_stmt *s = bundle_prepare_sets(&l->sql, of.newest_first);
    for (bool more = true; more && sql_row(&l->sql, s);) {
        of.set = (uint32_t)sql_int(s, 0);
        more = list_by_search(l, list, range, &of);
    }
    sql_finalize(s);
}

/* Adds a day's attempts, as far as the list shows them, to those of other days. */
static void read_attempts_of_day(struct event_lookup *l, struct callback_list *list,
                                 struct callback_row *row, sqlite3_stmt *day)
{
    struct arena arena = {0};
    struct callback_row found = *row;
    uint64_t id = event_id_of(list->account_no, row->event.event_no);
    struct log_reading reading = {.lookup = l, .arena = &arena, .row = &found, .id = id};
    found.log = NULL;
    found.log_count = 0;
    read_day(&reading, day);
    if (found.log_count > 0) {
        for (size_t i = 0; i < row->log_count; i++)
            keep_attempt(&reading, &row->log[i]);
        struct attempt *all = found.log;
        callback_list_keep_log(list, &found);
        free(all);
        row->log = found.log;
        row->log_count = found.log_count;
    }
    arena_free(&arena);
}

static void read_list_attempts(struct event_lookup *l, struct callback_list *list)
{
    sqlite3_stmt *days = prepare_days(&l->sql), *day;
    while ((day = next_day(&l->sql, days)) != NULL) {
        for (size_t i = 0; i < list->count; i++)
            if (callback_list_wants_attempts(list, &list->rows[i]))
                read_attempts_of_day(l, list, &list->rows[i], day);
        sql_finalize(day);
    }
    sql_finalize(days);
}

static enum store_status list_rows(struct event_lookup *l, const struct hash_secret *secret,
                                   uint64_t id, struct callback_list *list)
{
    struct event_row row;
    struct range range = {1, 0};
    if (list->account_no > 0 && list->account_no <= ACCOUNT_NO_LAST)
        range = list_range(l, list);
    list->rows = arena_alloc(&list->arena, list->limit * sizeof *list->rows);
    list->count = 0;
    list->more = false;
    if (range.first > range.last)
        return STORE_OK;
    if (list->event_id.p) {
        if (id >= range.first && id <= range.last && lookup_row(l, id, &row))
            (void)add_row(l, list, &row);
        sql_reset(l->row);
    } else if (list->state == CALLBACK_DELIVERING) {
        list_tried(l, list, range);
    } else if (list->panelist_id.p) {
        list_by_panelist(l, secret, list, range);
    } else if (list->of_day) {
        list_by_day(l, list, range);
    } else if (!list->all_events &&
               (list->type || list->state || list->undelivered || list->app_no)) {
        (void)list_by_search(l, list, range, NULL);
    } else {
        (void)list_by_range(l, list, range);
    }
    return STORE_OK;
}

/* Called after the rows are listed, in the same transaction: if later events are listed, an event
 * that has this number is visible, too. */
static bool is_foreign(struct event_lookup *l, const struct callback_list *list)
{
    if (!list->after_accepted_ms || list->after_event_no > EVENT_NO_LAST)
        return false;
    struct event_row row;
    bool is_there = lookup_row(l, event_id_of(list->account_no, list->after_event_no), &row);
    int64_t accepted_ms = is_there ? row.event.accepted_ms : 0;
    sql_reset(l->row);
    return callback_list_is_foreign(list, accepted_ms);
}

enum store_status read_list(struct event_lookup *l, const struct hash_secret *secret, uint64_t id,
                            struct callback_list *list)
{
    enum store_status status = list_rows(l, secret, id, list);
    if (is_foreign(l, list))
        return STORE_FOREIGN;
    if (status == STORE_OK && list->attempts)
        read_list_attempts(l, list);
    return status;
}
