/* States of older events, row by row: whatever becomes of a callback. What becomes of most is in
 * apply_delivered.c. */
#include "store/sqlite/apply.h"

#include "base/alloc.h"

#include "store/sqlite/row.h"

#define UPDATED_AT_ONCE 128

/* The writer has decided what becomes of an erased callback whose try ends (intake.c); the
 * texts of its attempt are still to go. */
static void note_late(struct apply *a, uint64_t id)
{
    a->erasing.late = xgrow(a->erasing.late, &a->erasing.late_capacity, a->erasing.late_count + 1,
                            sizeof *a->erasing.late);
    a->erasing.late[a->erasing.late_count++] = id;
}

/* An event's row as it was. */
struct older {
    const struct mem_entry *entry;
    struct callback_status status;
    struct apply_callback callback;
};

static void update_event(struct apply *a, const struct older *before)
{
    const struct mem_entry *entry = before->entry;
    struct callback_status after = entry->status;
    if (before->callback.segment == 0)
        note_late(a, entry->id);
    if (before->status.wait == WAIT_DUE)
        apply_queue_done(a, before->status.lane, before->status.place.due_ms, entry->id);
    sqlite3_stmt *s = a->older.set;
    sql_bind_int(s, 1, after.state);
    sql_bind_int(s, 2, after.reason);
    sql_bind_int(s, 3, after.wait);
    sql_bind_int(s, 4, after.manual);
    sql_bind_int(s, 5, after.place.failed_attempts);
    sql_bind_int(s, 6, after.place.slot);
    sql_bind_int(s, 7, after.place.due_ms);
    sql_bind_int(s, 8, after.attempts);
    sql_bind_int(s, 9, entry->counted);
    sql_bind_int(s, 10, (int64_t)entry->id);
    sql_run(&a->sql, s);
    if (after.wait == WAIT_DUE)
        apply_queue_due(a, before->status.lane, after.place.due_ms, entry->id);
    apply_moved(a, &before->callback, before->status.state, after.state, entry->counted);
}

static void id_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    (void)column;
    feed_int(to, (int64_t)((const struct apply_row *)context)[row].id);
}

/* The rows of order[0..count), but for those that are not there. */
static size_t read_older(struct apply *a, const struct apply_row *order, size_t count,
                         struct older *ret)
{
    sqlite3_stmt *s = a->older.find;
    size_t found = 0;
    feed_set(&a->feed, count, id_column, order);
    for (size_t i = 0; sql_row(&a->sql, s); i++) {
        uint64_t id = (uint64_t)sql_int(s, STATUS_COLUMN_COUNT);
        while (order[i].id != id)
            i++;
        struct older *at = &ret[found++];
        at->entry = order[i].entry;
        status_read(s, &at->status);
        at->callback = apply_callback_read(s, id);
    }
    feed_set(&a->feed, 0, NULL, NULL);
    return found;
}

/* Read some, change them, read the next: one statement reads many at half of what a statement for
 * each costs. */
void apply_older(struct apply *a, const struct apply_row *rows, size_t count)
{
    struct older before[UPDATED_AT_ONCE];
    for (size_t done = 0; done < count; done += UPDATED_AT_ONCE) {
        size_t most = count - done < UPDATED_AT_ONCE ? count - done : UPDATED_AT_ONCE;
        size_t found = read_older(a, rows + done, most, before);
        for (size_t i = 0; i < found; i++)
            update_event(a, &before[i]);
    }
}
