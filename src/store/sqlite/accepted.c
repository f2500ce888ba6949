/* Searches times of acceptance on disk, and records where they go back; see accepted.h. */
#include "store/sqlite/accepted.h"

#include "domain/clock.h"

/* --- searching ------------------------------------------------------------------------------ */

static int64_t accepted_ms_of(struct sql *q, sqlite3_stmt *find, uint64_t id)
{
    int64_t ms = 0;
    sql_bind_int(find, 1, (int64_t)id);
    if (sql_row(q, find)) {
        ms = sql_int(find, 0);
        sql_reset(find);
    }
    return ms;
}

/* The first id in [first, end) accepted at ms or later; end: none. */
static uint64_t first_at(struct sql *q, sqlite3_stmt *find, uint64_t first, uint64_t end,
                         int64_t ms)
{
    while (first < end) {
        uint64_t middle = first + (end - first) / 2;
        if (accepted_ms_of(q, find, middle) >= ms)
            end = middle;
        else
            first = middle + 1;
    }
    return first;
}

/* Widens the range by the ids in the stretch [first, end) that were accepted in that time. */
static void add_stretch(struct sql *q, sqlite3_stmt *find, uint64_t first, uint64_t end,
                        int64_t from_ms, int64_t to_ms, struct range *range)
{
    uint64_t low = first_at(q, find, first, end, from_ms);
    uint64_t high = first_at(q, find, low, end, to_ms);
    if (low == high)
        return;
    if (range->first > range->last)
        range->first = low;
    range->last = high - 1;
}

struct range accepted_between(struct sql *q, uint32_t account_no, int64_t from_ms, int64_t to_ms)
{
    struct range range = {1, 0};
    uint64_t first = event_id_of(account_no, 1), end = first;
    sqlite3_stmt *last = sql_prepare(q, "SELECT max(id) FROM event WHERE id>=? AND id<=?");
    sql_bind_int(last, 1, (int64_t)first);
    sql_bind_int(last, 2, (int64_t)event_id_of(account_no, EVENT_NO_LAST));
    if (sql_row(q, last) && sql_int(last, 0) > 0)
        end = (uint64_t)sql_int(last, 0) + 1;
    sql_finalize(last);
    sqlite3_stmt *find = sql_prepare(q, "SELECT accepted_ms FROM event WHERE id=?");
    sqlite3_stmt *back =
        sql_prepare(q, "SELECT id FROM accepted_back WHERE id>? AND id<? ORDER BY id");
    sql_bind_int(back, 1, (int64_t)first);
    sql_bind_int(back, 2, (int64_t)end);
    while (sql_row(q, back)) {
        uint64_t next = (uint64_t)sql_int(back, 0);
        add_stretch(q, find, first, next, from_ms, to_ms, &range);
        first = next;
    }
    add_stretch(q, find, first, end, from_ms, to_ms, &range);
    sql_finalize(back);
    sql_finalize(find);
    return range;
}

struct range accepted_on(struct sql *q, uint32_t account_no, int32_t day)
{
    return accepted_between(q, account_no, day * DAY_MS, (day + 1) * DAY_MS);
}

/* --- recording ------------------------------------------------------------------------------ */

/* When the account's event before this one was accepted; INT64_MIN: there is none. */
static int64_t previous_ms(struct apply *a, const struct event *e, sqlite3_stmt *find)
{
    if (e->event_no == 1)
        return INT64_MIN;
    uint64_t id = event_id_of(e->account_no, e->event_no - 1);
    const struct mem_entry *entry = memtable_entry(a->m, id);
    const struct event *before = entry ? memtable_event(a->m, entry) : NULL;
    return before ? before->accepted_ms : accepted_ms_of(&a->sql, find, id);
}

void apply_accepted(struct apply *a)
{
    sqlite3_stmt *find = NULL, *add = NULL;
    for (size_t i = 0; i < a->m->event_count; i++) {
        const struct event *e = &a->m->events[i];
        if (e->accepted_ms >= a->counters.latest_accepted_ms) {
            a->counters.latest_accepted_ms = e->accepted_ms;
            continue; /* later than every event before it, so also than its account's last one */
        }
        if (!find) {
            find = sql_prepare(&a->sql, "SELECT accepted_ms FROM event WHERE id=?");
            add = sql_prepare(&a->sql, "INSERT OR IGNORE INTO accepted_back VALUES(?)");
        }
        if (previous_ms(a, e, find) <= e->accepted_ms)
            continue;
        sql_bind_int(add, 1, (int64_t)event_id_of(e->account_no, e->event_no));
        sql_run(&a->sql, add);
    }
    sql_finalize(find);
    sql_finalize(add);
}
