/* The log of callbacks: one with its attempts, and lists by every filter. The narrowest index
 * leads, the other filters are looked at row by row. Times of acceptance never go back along an
 * account's event numbers, so a range of them is found by halving. */
#include "store/sqlite/sqlite_store.h"

#include "base/alloc.h"
#include "domain/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void fill_row(struct lookup *l, struct row *row, struct arena *arena,
                     struct callback_row *ret)
{
    event_keep(&row->event, arena);
    row->event.body = lookup_body(l, row->id, row->segment, arena);
    *ret = (struct callback_row){
        .event = row->event,
        .state = row->status.state,
        .reason = row->status.reason,
        .next_attempt_ms = row->status.state == CALLBACK_PENDING ? row->status.place.due_ms : 0,
        .attempts = row->status.attempts,
    };
}

/* --- one -------------------------------------------------------------------------------------- */

static void read_attempt(sqlite3_stmt *s, struct arena *arena, struct attempt *ret)
{
    *ret = (struct attempt){
        .number = (int32_t)sql_int(s, 0),
        .at_ms = sql_int(s, 1),
        .manual = sql_int(s, 2) != 0,
        .duration_ms = (int32_t)sql_int(s, 3),
        .status = (int32_t)sql_int(s, 4),
        .class = (enum attempt_class)sql_int(s, 5),
        .url = arena_str(arena, sql_str(s, 6)),
        .detail = arena_str(arena, sql_str(s, 7)),
        .request_headers = arena_str(arena, sql_str(s, 8)),
        .response_headers = arena_str(arena, sql_str(s, 9)),
        .response_body = arena_str(arena, sql_str(s, 10)),
    };
}

static void read_attempts_of_day(struct lookup *l, struct str table, uint64_t id,
                                 struct arena *arena, struct callback_row *row, size_t *capacity)
{
    sqlite3_stmt *s = sql_prepare_f(
        &l->sql,
        "SELECT number,at_ms,manual,duration_ms,status,class,url,detail,request_headers,"
        "response_headers,response_body FROM %.*s WHERE id=? ORDER BY number,at_ms",
        STR_ARG(table));
    sql_bind_int(s, 1, (int64_t)id);
    while (sql_row(&l->sql, s)) {
        row->log = xgrow(row->log, capacity, row->log_count + 1, sizeof *row->log);
        read_attempt(s, arena, &row->log[row->log_count++]);
    }
    sql_finalize(s);
}

static void read_attempts(struct lookup *l, uint64_t id, struct arena *arena,
                          struct callback_row *row)
{
    size_t capacity = 0;
    sqlite3_stmt *s = sql_prepare(
        &l->sql, "SELECT name FROM sqlite_schema WHERE type='table' AND name GLOB 'attempt_*'"
                 " AND CAST(substr(name,9) AS INT)>=? ORDER BY CAST(substr(name,9) AS INT)");
    sql_bind_int(s, 1, clock_day(row->event.accepted_ms) - 1);
    while (sql_row(&l->sql, s))
        read_attempts_of_day(l, sql_str(s, 0), id, arena, row, &capacity);
    sql_finalize(s);
    struct attempt *kept = arena_alloc(arena, row->log_count * sizeof *kept + 1);
    if (row->log_count > 0)
        memcpy(kept, row->log, row->log_count * sizeof *kept);
    free(row->log);
    row->log = kept;
}

enum store_status read_callback(struct lookup *l, uint64_t id, struct callback_get *get)
{
    struct row row;
    if (id == 0 || !lookup_row(l, id, &row))
        return STORE_NOT_FOUND;
    bool owes = row.event.lane != LANE_NONE;
    if (owes)
        fill_row(l, &row, &get->arena, &get->row);
    sql_reset(l->row);
    if (!owes)
        return STORE_NOT_FOUND;
    read_attempts(l, id, &get->arena, &get->row);
    return STORE_OK;
}

/* --- lists ------------------------------------------------------------------------------------ */

struct range {
    uint64_t first, last; /* ids, inclusive; empty when first > last */
};

static int64_t accepted_ms_of(struct lookup *l, uint64_t id)
{
    int64_t ms = 0;
    sql_bind_int(l->status, 1, (int64_t)id);
    if (sql_row(&l->sql, l->status)) {
        ms = sql_int(l->status, STATUS_ACCEPTED_COLUMN);
        sql_reset(l->status);
    }
    return ms;
}

/* The first event accepted at ms or later, in [1, last + 1]. */
static uint64_t first_accepted_from(struct lookup *l, uint32_t account_no, uint64_t last,
                                    int64_t ms)
{
    uint64_t low = 1, high = last + 1;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (accepted_ms_of(l, event_id_of(account_no, middle)) >= ms)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct range list_range(struct lookup *l, const struct callback_list *list)
{
    uint64_t last = lookup_last_event_no(l, list->account_no);
    uint64_t low = 1, high = last;
    if (list->accepted_from_ms != 0)
        low = first_accepted_from(l, list->account_no, last, list->accepted_from_ms);
    if (list->accepted_to_ms != 0)
        high = first_accepted_from(l, list->account_no, last, list->accepted_to_ms) - 1;
    bool newest = list->order == LIST_NEWEST_FIRST;
    if (list->after_event_no != 0 && newest && list->after_event_no <= high)
        high = list->after_event_no - 1;
    if (list->after_event_no != 0 && !newest && list->after_event_no >= low)
        low = list->after_event_no + 1;
    if (low > EVENT_NO_LAST)
        return (struct range){1, 0};
    return (struct range){event_id_of(list->account_no, low), event_id_of(list->account_no, high)};
}

static bool is_listed(const struct callback_list *list, const struct row *row)
{
    const struct event *e = &row->event;
    return e->lane != LANE_NONE && (!list->type || list->type == e->type) &&
           (!list->state || list->state == row->status.state) &&
           (!list->app_no || list->app_no == e->app_no) &&
           (!list->panelist_id.p || str_eq(list->panelist_id, e->panelist_id));
}

/* False: the list is full. */
static bool add_row(struct lookup *l, struct callback_list *list, struct row *row)
{
    if (!is_listed(list, row))
        return true;
    list->more = list->count == list->limit;
    if (!list->more)
        fill_row(l, row, &list->arena, &list->rows[list->count++]);
    return !list->more;
}

static const char *direction(const struct callback_list *list)
{
    return list->order == LIST_NEWEST_FIRST ? "DESC" : "ASC";
}

static void list_by_range(struct lookup *l, struct callback_list *list, struct range range)
{
    char where[64] = "NOT INDEXED WHERE";
    if (list->state == CALLBACK_PENDING || list->state == CALLBACK_DEAD ||
        list->state == CALLBACK_SKIPPED)
        snprintf(where, sizeof where, "INDEXED BY event_by_state WHERE state=%d AND", list->state);
    else if (list->app_no)
        snprintf(where, sizeof where, "INDEXED BY event_by_app WHERE app_no=%u AND", list->app_no);
    sqlite3_stmt *s = sql_prepare_f(
        &l->sql, "SELECT " ROW_COLUMNS " FROM event %s id>=? AND id<=? ORDER BY id %s", where,
        direction(list));
    sql_bind_int(s, 1, (int64_t)range.first);
    sql_bind_int(s, 2, (int64_t)range.last);
    struct row row;
    for (bool more = true; more && sql_row(&l->sql, s);) {
        row_read(s, &row);
        more = add_row(l, list, &row);
    }
    sql_finalize(s);
}

static bool list_segment(struct lookup *l, struct callback_list *list, struct range range,
                         uint32_t segment, int64_t hash)
{
    sqlite3_stmt *s = sql_prepare_f(
        &l->sql, "SELECT id FROM panelist_%u WHERE hash=? AND id>=? AND id<=? ORDER BY id %s",
        segment, direction(list));
    sql_bind_int(s, 1, hash);
    sql_bind_int(s, 2, (int64_t)range.first);
    sql_bind_int(s, 3, (int64_t)range.last);
    bool more = true;
    struct row row;
    while (more && sql_row(&l->sql, s)) {
        if (lookup_row(l, (uint64_t)sql_int(s, 0), &row))
            more = add_row(l, list, &row);
    }
    sql_finalize(s);
    return more;
}

static void list_by_panelist(struct lookup *l, const struct hash_secret *secret,
                             struct callback_list *list, struct range range)
{
    if (list->panelist_id.n > LIMIT_PANELIST_ID_BYTES)
        return;
    int64_t hash = (int64_t)panelist_key(secret, list->account_no, list->panelist_id).hi;
    sqlite3_stmt *s =
        sql_prepare_f(&l->sql, "SELECT no FROM segment ORDER BY no %s", direction(list));
    for (bool more = true; more && sql_row(&l->sql, s);)
        more = list_segment(l, list, range, (uint32_t)sql_int(s, 0), hash);
    sql_finalize(s);
}

enum store_status read_list(struct lookup *l, const struct hash_secret *secret, uint64_t id,
                            struct callback_list *list)
{
    struct row row;
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
    } else if (list->panelist_id.p) {
        list_by_panelist(l, secret, list, range);
        sql_reset(l->row);
    } else {
        list_by_range(l, list, range);
    }
    return STORE_OK;
}
