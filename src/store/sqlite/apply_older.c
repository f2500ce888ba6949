/* Writes the new states of events that earlier memtables have stored. Many of their rows are read
 * at a time, but they are written one by one. The exception is the most frequent change: a waiting
 * callback is delivered. It changes every row in the same way, so one statement scans a range of
 * ids and changes the rows whose ids are in a list (docs/decisions/hot-path.md). */
#include "store/sqlite/apply_older.h"

#include "base/alloc.h"
#include "domain/retention.h"
#include "store/sqlite/apply.h"
#include "store/sqlite/apply_moves.h"
#include "store/sqlite/event_row.h"

#include <stdlib.h>

/* How many other rows a statement may scan between two of its own: about the cost of starting
 * another statement. */
#define GAP_MOST 16

/* The writer has decided the state of an erased callback whose attempt ends (writer_intake.c); the
 * attempt's texts must still be erased. */
static void note_late(struct apply *a, uint64_t id)
{
    *ARRAY_PUSH(a->erasing.late, a->erasing.late_count, a->erasing.late_capacity) = id;
}

/* An event's row before the memtable. */
struct older {
    const struct mem_entry *entry;
    struct callback_life life;
    struct apply_callback callback;
};

/* --- reading ------------------------------------------------------------------------------- */

static void id_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    (void)column;
    array_vtab_int(to, (int64_t)((const struct apply_row *)context)[row].id);
}

/* Reads the existing rows of order[0..count). One statement for many costs half of a statement for
 * each. */
static size_t read_older(struct apply *a, const struct apply_row *order, size_t count,
                         struct older *ret)
{
    sqlite3_stmt *s = a->older.find;
    size_t found = 0;
    array_vtab_set(&a->input, count, id_column, order);
    for (size_t i = 0; sql_row(&a->sql, s); i++) {
        uint64_t id = (uint64_t)sql_int(s, STATUS_COLUMN_COUNT);
        while (order[i].id != id)
            i++;
        struct older *at = &ret[found++];
        at->entry = order[i].entry;
        status_read(s, &at->life);
        at->callback = apply_callback_read(s, id);
    }
    array_vtab_set(&a->input, 0, NULL, NULL);
    return found;
}

/* --- writing ------------------------------------------------------------------------------- */

static void set_row(struct apply *a, const struct mem_entry *entry)
{
    const struct callback_life *after = &entry->life;
    sqlite3_stmt *s = a->older.set;
    sql_bind_int(s, 1, after->state);
    sql_bind_int(s, 2, after->reason);
    sql_bind_int(s, 3, after->wait);
    sql_bind_int(s, 4, after->manual);
    sql_bind_int(s, 5, after->place.failed_attempts);
    sql_bind_int(s, 6, after->place.slot);
    sql_bind_int(s, 7, after->place.due_ms);
    sql_bind_int(s, 8, after->attempts);
    sql_bind_int(s, 9, entry->counted);
    sql_bind_int(s, 10, (int64_t)entry->id);
    sql_run(&a->sql, s);
}

/* True if set_delivered makes all changes of the row. */
static bool is_simple(const struct older *before)
{
    const struct callback_life *was = &before->life, *after = &before->entry->life;
    return was->state == CALLBACK_PENDING && was->wait == WAIT_DUE &&
           after->state == CALLBACK_DELIVERED && after->wait == WAIT_NOT &&
           before->entry->counted == COUNTED_DELIVERED && was->reason == after->reason &&
           was->manual == after->manual && was->attempts + 1 == after->attempts &&
           before->callback.segment != 0; /* not erased */
}

/* SQL function: true if the id is in older->delivered. */
static void is_delivered(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    ASSERT(argc == 1);
    const struct apply_older_rows *older = sqlite3_user_data(context);
    uint64_t id = (uint64_t)sqlite3_value_int64(argv[0]);
    sqlite3_result_int(context, bsearch(&id, older->delivered, older->delivered_count, sizeof id,
                                        sort_compare_numbers) != NULL);
}

static void set_delivered(struct apply *a)
{
    const uint64_t *ids = a->older.delivered;
    size_t count = a->older.delivered_count, start = 0;
    for (size_t i = 1; i <= count; i++) {
        if (i < count && ids[i] - ids[i - 1] <= GAP_MOST)
            continue;
        sql_bind_int(a->older.set_delivered, 1, (int64_t)ids[start]);
        sql_bind_int(a->older.set_delivered, 2, (int64_t)ids[i - 1]);
        sql_run(&a->sql, a->older.set_delivered);
        start = i;
    }
}

/* --- applying ------------------------------------------------------------------------------ */

/* An erased callback has no body to keep. */
static void note_final(struct apply *a, const struct older *before)
{
    const struct apply_callback *c = &before->callback;
    if (c->segment != 0 &&
        retention_ends_late(&before->life, &before->entry->life, c->accepted_ms, a->now_ms))
        apply_note_final_late(a, c->segment, clock_day(a->now_ms));
}

/* Applies the changes outside of the callback's own row. */
static void move(struct apply *a, const struct older *before)
{
    const struct callback_life *after = &before->entry->life;
    uint64_t id = before->entry->id;
    if (before->callback.segment == 0)
        note_late(a, id);
    if (before->life.wait == WAIT_DUE)
        apply_queue_done(a, before->life.lane, before->life.place.due_ms, id);
    if (after->wait == WAIT_DUE)
        apply_queue_due(a, before->life.lane, after->place.due_ms, id);
    apply_moved(a, &before->callback, before->life.state, after->state, before->entry->counted);
    note_final(a, before);
}

void apply_older(struct apply *a, const struct apply_row *rows, size_t count)
{
    struct older before[OLDER_AT_ONCE];
    for (size_t done = 0; done < count; done += OLDER_AT_ONCE) {
        size_t most = count - done < OLDER_AT_ONCE ? count - done : OLDER_AT_ONCE;
        size_t found = read_older(a, rows + done, most, before);
        a->older.delivered_count = 0;
        for (size_t i = 0; i < found; i++) {
            move(a, &before[i]);
            if (is_simple(&before[i]))
                a->older.delivered[a->older.delivered_count++] = before[i].entry->id;
            else
                set_row(a, before[i].entry);
        }
        set_delivered(a);
    }
}

void apply_older_prepare(struct apply *a)
{
    struct sql *q = &a->sql;
    ASSERT(sqlite3_create_function_v2(q->db, "is_delivered", 1, SQLITE_UTF8, &a->older,
                                      is_delivered, NULL, NULL, NULL) == SQLITE_OK);
    a->older.find = sql_prepare(q, "SELECT " STATUS_COLUMNS
                                   ",id FROM input CROSS JOIN event ON event.id=input.c0");
    a->older.set = sql_prepare(
        q, "UPDATE event SET state=?,reason=?,queue=?,manual=?,"
           "failed_attempts=?,slot=?,due_ms=?,attempts=max(attempts,?),counted=counted|?"
           " WHERE id=?");
    a->older.set_delivered = sql_prepare_f(
        q,
        "UPDATE OR FAIL event SET state=%d,queue=%d,failed_attempts=0,slot=0,due_ms=0,"
        "attempts=attempts+1,counted=counted|%u"
        " WHERE id>=? AND id<=? AND is_delivered(id)",
        CALLBACK_DELIVERED, WAIT_NOT, COUNTED_DELIVERED);
}
