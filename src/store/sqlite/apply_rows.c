/* Event rows: inserts new ones in the state that their callback has reached, changes earlier ones
 * (apply_older.c), and updates the waiting callbacks of the lanes (apply_due.c). */
#include "store/sqlite/apply_rows.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "store/sqlite/apply.h"
#include "store/sqlite/event_row.h"

#include <stdlib.h>

#define PLAIN_RUN 16

static void sort_rows(struct apply_row *order, size_t count)
{
    struct sort_item *items = xmalloc((count * 2 + 1) * sizeof *items);
    struct apply_row *sorted = xmalloc((count + 1) * sizeof *sorted);
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
    const struct apply_row *order;
    size_t count;
    uint32_t segment;
};

/* Most events are surveys that were delivered by the first attempt, and half of their columns are
 * always the same. A separate statement (apply.c) has these columns as constants, because a value
 * from the virtual table costs several times as much. */
static bool is_plain(const struct event *e, const struct mem_entry *entry)
{
    const struct callback_life *life = &entry->life;
    return !e->is_test && e->offer_id == 0 && e->original_no == 0 && !e->mid.p &&
           !e->offer_title.p && !e->offer_goal_id.p && !e->original_reward_id.p && !e->reason.p &&
           e->signature_offset == 0 && e->cap == CAP_NONE && life->reason == REASON_NONE &&
           !life->manual && life->place.failed_attempts == 0 && life->place.slot == 0;
}

/* The rows of one account are scattered in memory: prefetches a row that is needed soon. */
static void prefetch_event(const struct apply_row *soon)
{
    const char *event = (const char *)soon->event;
    for (size_t at = 0; at < sizeof *soon->event; at += 64)
        __builtin_prefetch(event + at);
    __builtin_prefetch(soon->entry);
    __builtin_prefetch(&soon->entry->life.place);
}

static void event_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    const struct new_rows *rows = context;
    const struct apply_row *at = &rows->order[row];
    if (column == 0 && row + 6 < rows->count) {
        prefetch_event(at + 6);
        __builtin_prefetch(at[2].event->event_id.p);
    }
    row_column(to, column, at->event, rows->segment, &at->entry->life, at->entry->counted);
}

struct body_rows {
    struct body_packer *packer;
    const struct apply_row *order;
    const size_t *starts; /* index of each block's first in order; one more for the end */
};

static void body_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    const struct body_rows *rows = context;
    const struct apply_row *at = &rows->order[rows->starts[row]],
                           *end = &rows->order[rows->starts[row + 1]];
    if (column == 0) {
        array_vtab_int(to, (int64_t)(at->id >> BODY_BLOCK_BITS));
        return;
    }
    for (const struct apply_row *soon = at; soon < end; soon++)
        for (size_t line = 0; line < soon->event->body.n; line += 64)
            __builtin_prefetch(soon->event->body.p + line);
    for (; at < end; at++)
        body_packer_add(rows->packer, at->id, at->event->body);
    /* SQLite copies it before the next row is asked for */
    array_vtab_blob(to, body_packer_end(rows->packer));
}

static void add_bodies(struct apply *a, const struct apply_row *order, size_t count)
{
    size_t *starts = xmalloc((count + 1) * sizeof *starts), blocks = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || order[i].id >> BODY_BLOCK_BITS != order[i - 1].id >> BODY_BLOCK_BITS)
            starts[blocks++] = i;
    }
    starts[blocks] = count;
    array_vtab_run(&a->sql, a->segment.add_body, &a->input, blocks, body_column,
                   &(struct body_rows){&a->bodies, order, starts});
    free(starts);
}

static void add_reversal(struct apply *a, uint64_t id, const struct event *e)
{
    sql_bind_int(a->rows.add_reversal, 1, (int64_t)event_id_of(e->account_no, e->original_no));
    sql_bind_int(a->rows.add_reversal, 2, (int64_t)id);
    sql_run(&a->sql, a->rows.add_reversal);
}

/* Adds a new event to everything except its own row. */
static void count_event(struct apply *a, const struct mem_entry *entry, const struct event *e)
{
    const struct callback_life *life = &entry->life;
    apply_count(a, CALLBACK_NONE, life->state, entry->counted);
    if (e->lane != LANE_NONE)
        apply_search_move(a, entry->id, e->app_no, e->type, CALLBACK_NONE, life->state);
    if (life->state == CALLBACK_PENDING)
        apply_waits(a, a->segment.no, e->accepted_ms, 1);
    books_owe(&a->ledger.books, e, life->state);
    if (life->wait == WAIT_DUE)
        apply_queue_due(a, life->lane, life->place.due_ms, entry->id);
    if (e->original_no != 0)
        add_reversal(a, entry->id, e);
}

static void add_rows(struct apply *a, sqlite3_stmt *s, const struct apply_row *order, size_t count)
{
    struct new_rows rows = {order, count, a->segment.no};
    array_vtab_run(&a->sql, s, &a->input, count, event_column, &rows);
}

/* Starting a statement costs as much as some rows, so short runs of plain events are inserted with
 * the others. */
static void add_events(struct apply *a, const struct apply_row *order, size_t count)
{
    size_t begin = 0, run = 0; /* begin: the first not inserted yet; run: plain ones at the end */
    sql_bind_int(a->rows.add_plain, 1, a->segment.no);
    for (size_t i = 0; i <= count; i++) {
        if (i < count && order[i].is_plain) {
            run++;
            continue;
        }
        if (run >= PLAIN_RUN) {
            add_rows(a, a->rows.add, order + begin, i - run - begin);
            add_rows(a, a->rows.add_plain, order + i - run, run);
            begin = i;
        }
        run = 0;
    }
    add_rows(a, a->rows.add, order + begin, count - begin);
}

static void payment_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    const struct mem_payment *p = (const struct mem_payment *)context + row;
    switch (column) {
    case 0: array_vtab_int(to, p->app_no); break;
    case 1: array_vtab_int(to, (int64_t)p->panelist_hash); break;
    case 2: array_vtab_int(to, p->occurred_ms); break;
    default: array_vtab_int(to, (int64_t)p->id); break;
    }
}

/* Called in the order of memory, which is faster here than the order of rows. */
static struct apply_row order_of(struct apply *a, const struct mem_entry *entry)
{
    const struct event *e = memtable_event(a->m, entry);
    if (!e)
        return (struct apply_row){.id = entry->id, .entry = entry};
    count_event(a, entry, e);
    return (struct apply_row){.id = entry->id,
                              .entry = entry,
                              .event = e,
                              .is_plain = is_plain(e, entry),
                              .has_body = e->body.p != NULL};
}

void apply_rows(struct apply *a)
{
    const struct memtable *m = a->m;
    struct apply_row *order = apply_order(a, m->entry_count, sizeof *order);
    size_t added = 0, updated = m->entry_count, bodies = 0;
    for (size_t i = 0; i < m->entry_count; i++) {
        struct apply_row at = order_of(a, &m->entries[i]);
        order[at.event ? added++ : --updated] = at;
    }
    sort_rows(order, added);
    sort_rows(order + updated, m->entry_count - updated);
    apply_older(a, order + updated, m->entry_count - updated);
    add_events(a, order, added);
    for (size_t i = 0; i < added; i++)
        if (order[i].has_body)
            order[bodies++] = order[i];
    add_bodies(a, order, bodies);
    apply_due(a);
    array_vtab_run(&a->sql, a->rows.add_cap, &a->input, m->payment_count, payment_column,
                   m->payments);
}
