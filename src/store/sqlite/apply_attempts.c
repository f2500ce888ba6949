/* The log of attempts: a table for each day of attempts, with the blocks of attempt_block.h as
 * rows. A memtable's attempts of a block are appended to the block as one chunk. */
#include "store/sqlite/apply_attempts.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "domain/clock.h"
#include "store/sqlite/apply.h"
#include "store/sqlite/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define AHEAD 8                /* attempts */
#define TEXTS_BYTES_LIKELY 704 /* of one attempt, from its request headers on */

static uint64_t day_key(const struct mem_attempt *at)
{
    return (uint64_t)((int64_t)clock_day(at->attempt.at_ms) - INT32_MIN);
}

static void open_day(struct apply *a, int64_t day)
{
    if (a->attempt.add && a->attempt.day == day)
        return;
    char table[32];
    snprintf(table, sizeof table, "attempts_%" PRId64, day);
    sql_finalize(a->attempt.add);
    a->attempt.day = day;
    schema_create_attempts(&a->sql, table);
    a->attempt.add = schema_prepare_attempts(&a->sql, table, "SELECT c0,c1 FROM input WHERE true");
}

struct day_rows {
    struct attempt_chunk *chunk;
    const struct memtable *m;
    const struct mem_attempt *const *order;
    const size_t *starts; /* index of each block's first in order; one more for the end */
    size_t blocks;
};

/* In the order of ids the attempts are scattered in memory; the texts of each are contiguous. */
static void prefetch(const struct day_rows *rows, const struct mem_attempt *late,
                     const struct mem_attempt *soon)
{
    const char *texts = soon->attempt.request_headers.p;
    for (size_t at = 0; at < sizeof *late; at += 64)
        __builtin_prefetch((const char *)late + at);
    if (texts)
        for (size_t at = 0; at < TEXTS_BYTES_LIKELY; at += 64)
            __builtin_prefetch(texts + at);
    if (soon->event >= 0) {
        __builtin_prefetch(&rows->m->events[soon->event].occurred_ms);
        __builtin_prefetch(&rows->m->events[soon->event].event_id);
    }
}

static void block_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    const struct day_rows *rows = context;
    size_t start = rows->starts[row], end = rows->starts[row + 1];
    if (column == 0) {
        array_vtab_int(to, (int64_t)(rows->order[start]->id >> ATTEMPT_BLOCK_BITS));
        return;
    }
    struct attempt_chunk *c = rows->chunk;
    buf_clear(&c->texts.out);
    attempt_chunk_begin(c);
    for (size_t i = start; i < end; i++) {
        const struct mem_attempt *at = rows->order[i];
        struct attempt_facts facts = {0};
        if (i + AHEAD < rows->starts[rows->blocks])
            prefetch(rows, rows->order[i + AHEAD], rows->order[i + AHEAD / 2]);
        if (at->event >= 0) {
            const struct event *e = &rows->m->events[at->event];
            facts = (struct attempt_facts){e->event_id, e->occurred_ms};
        }
        attempt_chunk_add(c, at->id, &at->attempt, &facts);
    }
    attempt_chunk_end(c);
    /* SQLite copies it before the next row is asked for */
    array_vtab_blob(to, buf_str(&c->texts.out));
}

/* Writes the attempts of one day, order[0..count). */
static void apply_day(struct apply *a, const struct mem_attempt *const *order, size_t count)
{
    size_t *starts = xmalloc((count + 1) * sizeof *starts), blocks = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || order[i]->id >> ATTEMPT_BLOCK_BITS != order[i - 1]->id >> ATTEMPT_BLOCK_BITS)
            starts[blocks++] = i;
    }
    starts[blocks] = count;
    open_day(a, clock_day(order[0]->attempt.at_ms));
    array_vtab_run(&a->sql, a->attempt.add, &a->input, blocks, block_column,
                   &(struct day_rows){a->attempt.chunk, a->m, order, starts, blocks});
    free(starts);
}

void apply_attempts(struct apply *a)
{
    const struct memtable *m = a->m;
    if (m->attempt_count == 0)
        return;
    /* by day, then by event: the last sort decides first */
    struct sort_item *items = apply_order(a, m->attempt_count * 2, sizeof *items);
    for (size_t i = 0; i < m->attempt_count; i++)
        items[i] = (struct sort_item){m->attempts[i].id, i};
    sort_by_key(items, m->attempt_count, items + m->attempt_count);
    for (size_t i = 0; i < m->attempt_count; i++)
        items[i].key = day_key(&m->attempts[items[i].value]);
    sort_by_key(items, m->attempt_count, items + m->attempt_count);
    const struct mem_attempt **order = xmalloc(m->attempt_count * sizeof(struct mem_attempt *));
    for (size_t i = 0; i < m->attempt_count; i++)
        order[i] = &m->attempts[items[i].value];
    size_t start = 0;
    for (size_t i = 1; i <= m->attempt_count; i++) {
        int32_t day = clock_day(order[start]->attempt.at_ms);
        if (i < m->attempt_count && clock_day(order[i]->attempt.at_ms) == day)
            continue;
        apply_day(a, order + start, i - start);
        start = i;
    }
    free(order);
}
