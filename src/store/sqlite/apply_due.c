/* Updates the table `due`, the waiting callbacks by lane and due time. Rows are deleted and
 * inserted in the order of the table, after all event rows of the memtable are written. */
#include "store/sqlite/apply_due.h"

#include "base/alloc.h"
#include "store/sqlite/apply.h"

#include <stdlib.h>

#define RANGE_LEAST 8     /* fewer are deleted one by one */
#define STRANGERS_MOST 16 /* a range may have this many other rows, and a quarter of its own */

static void queue(struct apply_dues *dues, lane_no lane, int64_t due_ms, uint64_t id)
{
    *ARRAY_PUSH(dues->items, dues->count, dues->capacity) = (struct apply_due){lane, due_ms, id};
}

void apply_queue_due(struct apply *a, lane_no lane, int64_t due_ms, uint64_t id)
{
    queue(&a->due.coming, lane, due_ms, id);
}

void apply_queue_done(struct apply *a, lane_no lane, int64_t due_ms, uint64_t id)
{
    queue(&a->due.leaving, lane, due_ms, id);
}

static int by_due(const void *x, const void *y)
{
    const struct apply_due *a = x, *b = y;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->due_ms != b->due_ms)
        return a->due_ms < b->due_ms ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static void sort(struct apply_dues *dues)
{
    if (dues->count > 0)
        qsort(dues->items, dues->count, sizeof *dues->items, by_due);
}

/* --- deleting ------------------------------------------------------------------------------ */

static void drop_one(struct apply *a, const struct apply_due *due)
{
    sql_bind_int(a->due.drop, 1, (int64_t)due->lane);
    sql_bind_int(a->due.drop, 2, due->due_ms);
    sql_bind_int(a->due.drop, 3, (int64_t)due->id);
    sql_run(&a->sql, a->due.drop);
}

static void bind_range(sqlite3_stmt *s, const struct apply_due *first, const struct apply_due *last)
{
    sql_bind_int(s, 1, (int64_t)first->lane);
    sql_bind_int(s, 2, first->due_ms);
    sql_bind_int(s, 3, (int64_t)first->id);
    sql_bind_int(s, 4, last->due_ms);
    sql_bind_int(s, 5, (int64_t)last->id);
}

/* True if few other rows lie between them. */
static bool is_dense(struct apply *a, const struct apply_due *first, size_t count)
{
    sqlite3_stmt *s = a->due.pass;
    bind_range(s, first, first + count - 1);
    sql_bind_int(s, 6, (int64_t)(count + count / 4 + STRANGERS_MOST));
    bool many = sql_row(&a->sql, s) && sql_int(s, 0) != 0;
    sql_reset(s);
    return !many;
}

/* Deletes rows of one lane. Outcomes come in the lane's order, so mostly the rows are everything
 * from the first to the last; otherwise the range is halved. */
static void drop_some(struct apply *a, const struct apply_due *first, size_t count)
{
    if (count < RANGE_LEAST) {
        for (size_t i = 0; i < count; i++)
            drop_one(a, &first[i]);
        return;
    }
    if (!is_dense(a, first, count)) {
        drop_some(a, first, count / 2);
        drop_some(a, first + count / 2, count - count / 2);
        return;
    }
    a->due.done = first;
    a->due.done_count = count;
    bind_range(a->due.drop_range, first, first + count - 1);
    sql_run(&a->sql, a->due.drop_range);
}

/* SQL function: true if the row is in due->done. */
static void is_done(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    ASSERT(argc == 2);
    const struct apply_due_rows *due = sqlite3_user_data(context);
    struct apply_due at = {due->done->lane, sqlite3_value_int64(argv[0]),
                           (uint64_t)sqlite3_value_int64(argv[1])};
    sqlite3_result_int(context,
                       bsearch(&at, due->done, due->done_count, sizeof at, by_due) != NULL);
}

static void drop_due(struct apply *a)
{
    const struct apply_dues *done = &a->due.leaving;
    size_t start = 0;
    sort(&a->due.leaving);
    for (size_t i = 1; i <= done->count; i++) {
        if (i < done->count && done->items[i].lane == done->items[start].lane)
            continue;
        drop_some(a, done->items + start, i - start);
        start = i;
    }
    a->due.leaving.count = 0;
}

/* --- inserting ----------------------------------------------------------------------------- */

static void due_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    const struct apply_due *due = (const struct apply_due *)context + row;
    array_vtab_int(to, column == 0   ? (int64_t)due->lane
                       : column == 1 ? due->due_ms
                                     : (int64_t)due->id);
}

static void add_due(struct apply *a)
{
    sort(&a->due.coming);
    array_vtab_run(&a->sql, a->due.add, &a->input, a->due.coming.count, due_column,
                   a->due.coming.items);
    a->due.coming.count = 0;
}

void apply_due(struct apply *a)
{
    drop_due(a);
    add_due(a);
}

void apply_due_prepare(struct apply *a)
{
    struct sql *q = &a->sql;
    ASSERT(sqlite3_create_function_v2(q->db, "is_done", 2, SQLITE_UTF8, &a->due, is_done, NULL,
                                      NULL, NULL) == SQLITE_OK);
    a->due.add = sql_prepare(q, "INSERT OR IGNORE INTO due SELECT c0,c1,c2 FROM input");
    a->due.drop = sql_prepare(q, "DELETE FROM due WHERE lane=? AND due_ms=? AND id=?");
    a->due.drop_range = sql_prepare(q, "DELETE FROM due WHERE lane=?1 AND (due_ms,id)>=(?2,?3)"
                                       " AND (due_ms,id)<=(?4,?5) AND is_done(due_ms,id)");
    a->due.pass = sql_prepare(q, "SELECT (due_ms,id)<=(?4,?5) FROM due WHERE lane=?1"
                                 " AND (due_ms,id)>=(?2,?3) ORDER BY due_ms,id LIMIT 1 OFFSET ?6");
}
