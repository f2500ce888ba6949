/* Event rows with the state their callback has reached by now, the states of older events, and
 * what waits in the lanes. */
#include "store/sqlite/apply.h"

#include <stdlib.h>

#include "store/sqlite/row.h"

static int by_id(const void *x, const void *y)
{
    const struct mem_entry *a = *(const struct mem_entry *const *)x;
    const struct mem_entry *b = *(const struct mem_entry *const *)y;
    return (a->id > b->id) - (a->id < b->id);
}

static void add_event(struct apply *a, const struct event *e, const struct mem_entry *entry)
{
    row_bind(a->add_event, e, a->segment.no, &entry->status, entry->counted);
    sql_run(&a->sql, a->add_event);
    if (e->body.p) {
        sql_bind_int(a->segment.add_body, 1, (int64_t)entry->id);
        sql_bind_blob(a->segment.add_body, 2, e->body);
        sql_run(&a->sql, a->segment.add_body);
    }
    apply_count(a, CALLBACK_NONE, entry->status.state, entry->counted);
    if (entry->status.queue == QUEUE_DUE)
        apply_queue_due(a, entry->status.lane, entry->status.place.due_ms, entry->id);
    if (e->original_no != 0) {
        sql_bind_int(a->add_reversal, 1, (int64_t)event_id_of(e->account_no, e->original_no));
        sql_bind_int(a->add_reversal, 2, (int64_t)entry->id);
        sql_run(&a->sql, a->add_reversal);
    }
}

static void drop_due(struct apply *a, uint64_t id, const struct callback_status *before)
{
    if (before->queue != QUEUE_DUE)
        return;
    sql_bind_int(a->drop_due, 1, (int64_t)before->lane);
    sql_bind_int(a->drop_due, 2, before->place.due_ms);
    sql_bind_int(a->drop_due, 3, (int64_t)id);
    sql_run(&a->sql, a->drop_due);
}

static void update_event(struct apply *a, const struct mem_entry *entry)
{
    struct callback_status before, after = entry->status;
    sql_bind_int(a->find_status, 1, (int64_t)entry->id);
    if (!sql_row(&a->sql, a->find_status))
        return;
    status_read(a->find_status, &before);
    bool erased = sql_int(a->find_status, STATUS_SEGMENT_COLUMN) == 0;
    unsigned counted = (unsigned)sql_int(a->find_status, STATUS_COUNTED_COLUMN);
    sql_reset(a->find_status);
    if (erased && after.queue != QUEUE_NONE) {
        /* A try that was under way when its panelist was erased: there is nothing to send. */
        after.state = CALLBACK_SKIPPED;
        after.reason = SKIP_DISABLED;
        after.queue = QUEUE_NONE;
    }
    drop_due(a, entry->id, &before);
    sqlite3_stmt *s = a->set_status;
    sql_bind_int(s, 1, after.state);
    sql_bind_int(s, 2, after.reason);
    sql_bind_int(s, 3, after.queue);
    sql_bind_int(s, 4, after.manual);
    sql_bind_int(s, 5, after.place.failed_attempts);
    sql_bind_int(s, 6, after.place.slot);
    sql_bind_int(s, 7, after.place.due_ms);
    sql_bind_int(s, 8, after.attempts);
    sql_bind_int(s, 9, entry->counted);
    sql_bind_int(s, 10, (int64_t)entry->id);
    sql_run(&a->sql, s);
    if (after.queue == QUEUE_DUE)
        apply_queue_due(a, before.lane, after.place.due_ms, entry->id);
    apply_count(a, before.state, after.state, entry->counted & ~counted);
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

static void add_due(struct apply *a)
{
    if (a->due_count > 0)
        qsort(a->due, a->due_count, sizeof *a->due, by_due);
    for (size_t i = 0; i < a->due_count; i++) {
        sql_bind_int(a->add_due, 1, (int64_t)a->due[i].lane);
        sql_bind_int(a->add_due, 2, a->due[i].due_ms);
        sql_bind_int(a->add_due, 3, (int64_t)a->due[i].id);
        sql_run(&a->sql, a->add_due);
    }
}

static void add_payments(struct apply *a)
{
    for (size_t i = 0; i < a->m->payment_count; i++) {
        const struct mem_payment *p = &a->m->payments[i];
        sql_bind_int(a->add_cap, 1, p->app_no);
        sql_bind_int(a->add_cap, 2, (int64_t)p->panelist_hash);
        sql_bind_int(a->add_cap, 3, p->occurred_ms);
        sql_bind_int(a->add_cap, 4, (int64_t)p->id);
        sql_run(&a->sql, a->add_cap);
    }
}

void apply_rows(struct apply *a)
{
    const struct memtable *m = a->m;
    const struct mem_entry **order = apply_order(a, m->entry_count, sizeof *order);
    for (size_t i = 0; i < m->entry_count; i++)
        order[i] = &m->entries[i];
    if (m->entry_count > 0)
        qsort(order, m->entry_count, sizeof *order, by_id);
    for (size_t i = 0; i < m->entry_count; i++) {
        const struct event *e = memtable_event(m, order[i]);
        if (e)
            add_event(a, e, order[i]);
        else
            update_event(a, order[i]);
    }
    add_due(a);
    add_payments(a);
}
