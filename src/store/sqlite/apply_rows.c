/* Event rows with the state their callback has reached by now, the states of older events, and
 * what waits in the lanes. */
#include "store/sqlite/apply.h"

#include "base/alloc.h"
#include "base/sort.h"

#include <stdlib.h>

#include "store/sqlite/body_block.h"
#include "store/sqlite/row.h"

#define PLAIN_RUN 16
#define UPDATED_AT_ONCE 128

struct row_order {
    uint64_t id;
    const struct mem_entry *entry;
    const struct event *event; /* NULL: the event is older */
    bool is_plain, has_body;
};

static void sort_rows(struct row_order *order, size_t count)
{
    struct sort_item *items = xmalloc((count * 2 + 1) * sizeof *items);
    struct row_order *sorted = xmalloc((count + 1) * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        items[i] = (struct sort_item){order[i].id, i};
    sort_by_key(items, count, items + count);
    for (size_t i = 0; i < count; i++)
        sorted[i] = order[items[i].value];
    memcpy(order, sorted, count * sizeof *sorted);
    free(sorted);
    free(items);
}

/* --- new events --------------------------------------------------------------------------------
 */

struct new_rows {
    const struct row_order *order;
    size_t count;
    uint32_t segment;
};

/* Of most events, surveys that were told at the first try, half of the row is always the same:
 * a statement of their own (apply.c) has these columns as constants, since asking the feed for one
 * costs several times as much. */
static bool is_plain(const struct event *e, const struct mem_entry *entry)
{
    const struct callback_status *status = &entry->status;
    return !e->is_test && e->offer_id == 0 && e->original_no == 0 && !e->mid.p &&
           !e->offer_title.p && !e->offer_goal_id.p && !e->original_reward_id.p && !e->reason.p &&
           e->signature_offset == 0 && !e->counts_for_cap && status->reason == SKIP_NONE &&
           !status->manual && status->place.failed_attempts == 0 && status->place.slot == 0;
}

/* The rows of one account lie far apart in memory: what comes soon is asked for now. */
static void prefetch_event(const struct row_order *soon)
{
    const char *event = (const char *)soon->event;
    for (size_t at = 0; at < sizeof *soon->event; at += 64)
        __builtin_prefetch(event + at);
    __builtin_prefetch(soon->entry);
    __builtin_prefetch(&soon->entry->status.place);
}

static void event_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    const struct new_rows *rows = context;
    const struct row_order *at = &rows->order[row];
    if (column == 0 && row + 6 < rows->count) {
        prefetch_event(at + 6);
        __builtin_prefetch(at[2].event->event_id.p);
    }
    row_feed(to, column, at->event, rows->segment, &at->entry->status, at->entry->counted);
}

struct body_rows {
    struct buf *block;
    const struct row_order *order;
    const size_t *starts; /* of the blocks in order; one more, behind the last */
};

static void body_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    const struct body_rows *rows = context;
    const struct row_order *at = &rows->order[rows->starts[row]],
                           *end = &rows->order[rows->starts[row + 1]];
    if (column == 0) {
        feed_int(to, (int64_t)(at->id >> BODY_BLOCK_BITS));
        return;
    }
    buf_clear(rows->block);
    for (const struct row_order *soon = at; soon < end; soon++)
        for (size_t line = 0; line < soon->event->body.n; line += 64)
            __builtin_prefetch(soon->event->body.p + line);
    for (; at < end; at++)
        body_block_add(rows->block, at->id, at->event->body);
    feed_blob(to, buf_str(rows->block)); /* used before the next row is asked for */
}

static void add_bodies(struct apply *a, const struct row_order *order, size_t count)
{
    size_t *starts = xmalloc((count + 1) * sizeof *starts), blocks = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || order[i].id >> BODY_BLOCK_BITS != order[i - 1].id >> BODY_BLOCK_BITS)
            starts[blocks++] = i;
    }
    starts[blocks] = count;
    feed_run(&a->sql, a->segment.add_body, &a->feed, blocks, body_column,
             &(struct body_rows){&a->block, order, starts});
    free(starts);
}

static void add_reversal(struct apply *a, uint64_t id, const struct event *e)
{
    sql_bind_int(a->add_reversal, 1, (int64_t)event_id_of(e->account_no, e->original_no));
    sql_bind_int(a->add_reversal, 2, (int64_t)id);
    sql_run(&a->sql, a->add_reversal);
}

/* What a new event adds to everything but its own row. */
static void count_event(struct apply *a, const struct mem_entry *entry, const struct event *e)
{
    const struct callback_status *status = &entry->status;
    apply_count(a, CALLBACK_NONE, status->state, entry->counted);
    if (status->state == CALLBACK_PENDING)
        apply_waits(a, a->segment.no, e->accepted_ms, 1);
    books_owe(&a->books, e, status->state);
    if (status->queue == QUEUE_DUE)
        apply_queue_due(a, status->lane, status->place.due_ms, entry->id);
    if (e->original_no != 0)
        add_reversal(a, entry->id, e);
}

static void add_rows(struct apply *a, sqlite3_stmt *s, const struct row_order *order, size_t count)
{
    struct new_rows rows = {order, count, a->segment.no};
    feed_run(&a->sql, s, &a->feed, count, event_column, &rows);
}

/* Starting a statement costs as much as some rows: few plain ones between others go with them. */
static void add_events(struct apply *a, const struct row_order *order, size_t count)
{
    size_t begin = 0, run = 0; /* what is to be added yet; plain ones at its end */
    sql_bind_int(a->add_plain, 1, a->segment.no);
    for (size_t i = 0; i <= count; i++) {
        if (i < count && order[i].is_plain) {
            run++;
            continue;
        }
        if (run >= PLAIN_RUN) {
            add_rows(a, a->add_event, order + begin, i - run - begin);
            add_rows(a, a->add_plain, order + i - run, run);
            begin = i;
        }
        run = 0;
    }
    add_rows(a, a->add_event, order + begin, count - begin);
}

/* --- states of older events --------------------------------------------------------------------
 */

static void drop_due(struct apply *a, uint64_t id, const struct callback_status *before)
{
    if (before->queue != QUEUE_DUE)
        return;
    sql_bind_int(a->drop_due, 1, (int64_t)before->lane);
    sql_bind_int(a->drop_due, 2, before->place.due_ms);
    sql_bind_int(a->drop_due, 3, (int64_t)id);
    sql_run(&a->sql, a->drop_due);
}

static void after_erasure(struct apply *a, uint64_t id, struct callback_status *status)
{
    a->late = xgrow(a->late, &a->late_capacity, a->late_count + 1, sizeof *a->late);
    a->late[a->late_count++] = id;
    status->queue = QUEUE_NONE;
    if (status->state != CALLBACK_PENDING)
        return;
    status->state = CALLBACK_SKIPPED;
    status->reason = SKIP_DISABLED;
}

/* An event's row as it was. */
struct older {
    const struct mem_entry *entry;
    struct callback_status status;
    struct apply_money money;
    unsigned counted;
    uint32_t segment; /* 0: erased */
    int64_t accepted_ms;
};

static void update_event(struct apply *a, const struct older *before)
{
    const struct mem_entry *entry = before->entry;
    struct callback_status after = entry->status;
    if (before->segment == 0) /* a try was under way meanwhile; there is nothing to send any more */
        after_erasure(a, entry->id, &after);
    drop_due(a, entry->id, &before->status);
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
        apply_queue_due(a, before->status.lane, after.place.due_ms, entry->id);
    apply_count(a, before->status.state, after.state, entry->counted & ~before->counted);
    apply_waits(a, before->segment, before->accepted_ms,
                (after.state == CALLBACK_PENDING) - (before->status.state == CALLBACK_PENDING));
    books_move(&a->books, &before->money.key, before->money.reward_micros,
               before->money.revenue_micros, before->status.state, after.state);
}

static void id_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    (void)column;
    feed_int(to, (int64_t)((const struct row_order *)context)[row].id);
}

/* The rows of order[0..count), but for those that are not there. */
static size_t read_older(struct apply *a, const struct row_order *order, size_t count,
                         struct older *ret)
{
    sqlite3_stmt *s = a->find_statuses;
    size_t found = 0;
    feed_set(&a->feed, count, id_column, order);
    for (size_t i = 0; sql_row(&a->sql, s); i++) {
        uint64_t id = (uint64_t)sql_int(s, STATUS_COLUMN_COUNT);
        while (order[i].id != id)
            i++;
        struct older *at = &ret[found++];
        at->entry = order[i].entry;
        status_read(s, &at->status);
        at->money = apply_money_read(s, id);
        at->counted = (unsigned)sql_int(s, STATUS_COUNTED_COLUMN);
        at->segment = (uint32_t)sql_int(s, STATUS_SEGMENT_COLUMN);
        at->accepted_ms = sql_int(s, STATUS_ACCEPTED_COLUMN);
    }
    feed_set(&a->feed, 0, NULL, NULL);
    return found;
}

/* Read some, change them, read the next: one statement reads many at half of what a statement for
 * each costs. */
static void update_events(struct apply *a, const struct row_order *order, size_t count)
{
    struct older before[UPDATED_AT_ONCE];
    for (size_t done = 0; done < count; done += UPDATED_AT_ONCE) {
        size_t most = count - done < UPDATED_AT_ONCE ? count - done : UPDATED_AT_ONCE;
        size_t found = read_older(a, order + done, most, before);
        for (size_t i = 0; i < found; i++)
            update_event(a, &before[i]);
    }
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

static void due_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    const struct apply_due *due = (const struct apply_due *)context + row;
    feed_int(to, column == 0 ? (int64_t)due->lane : column == 1 ? due->due_ms : (int64_t)due->id);
}

static void add_due(struct apply *a)
{
    if (a->due_count > 0)
        qsort(a->due, a->due_count, sizeof *a->due, by_due);
    feed_run(&a->sql, a->add_due, &a->feed, a->due_count, due_column, a->due);
}

static void payment_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    const struct mem_payment *p = (const struct mem_payment *)context + row;
    switch (column) {
    case 0: feed_int(to, p->app_no); break;
    case 1: feed_int(to, (int64_t)p->panelist_hash); break;
    case 2: feed_int(to, p->occurred_ms); break;
    default: feed_int(to, (int64_t)p->id); break;
    }
}

/* What is read here lies in memory in this order: better than in the order of the rows. */
static struct row_order order_of(struct apply *a, const struct mem_entry *entry)
{
    const struct event *e = memtable_event(a->m, entry);
    if (!e)
        return (struct row_order){.id = entry->id, .entry = entry};
    count_event(a, entry, e);
    return (struct row_order){entry->id, entry, e, is_plain(e, entry), e->body.p != NULL};
}

void apply_rows(struct apply *a)
{
    const struct memtable *m = a->m;
    struct row_order *order = apply_order(a, m->entry_count, sizeof *order);
    size_t added = 0, updated = m->entry_count, bodies = 0;
    for (size_t i = 0; i < m->entry_count; i++) {
        struct row_order at = order_of(a, &m->entries[i]);
        order[at.event ? added++ : --updated] = at;
    }
    sort_rows(order, added);
    sort_rows(order + updated, m->entry_count - updated);
    update_events(a, order + updated, m->entry_count - updated);
    add_events(a, order, added);
    for (size_t i = 0; i < added; i++)
        if (order[i].has_body)
            order[bodies++] = order[i];
    add_bodies(a, order, bodies);
    add_due(a);
    feed_run(&a->sql, a->add_cap, &a->feed, m->payment_count, payment_column, m->payments);
}
