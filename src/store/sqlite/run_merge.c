/* A merge reads its runs block by block, so it needs memory for one block of each. A block is
 * deleted when it has been read: its page is free for the new run, so that neither the file nor the
 * transaction grows much. */
#include "store/sqlite/run_merge.h"

#include "base/alloc.h"
#include "base/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/sqlite/run.h"

struct run {
    uint32_t no;
    int64_t events;
};

struct runs {
    struct run *items;
    size_t count, capacity;
};

/* A run that is being read. */
struct input {
    int64_t next_id, end_id; /* of the remaining blocks */
    struct buf block;        /* not empty while it is in the heap */
    size_t at;               /* offset of the current record, in bytes */
};

struct merge {
    struct sql *q;
    enum run_kind kind;
    uint32_t segment;
    sqlite3_stmt *read, *take;
    struct input *inputs; /* one for each run; the first `open` are a heap */
    size_t open;
};

/* --- one table ----------------------------------------------------------------------------------
 */

/* Moves the next block out of its run. False: the run is at its end. */
static bool take_block(struct merge *m, struct input *in)
{
    sql_bind_int(m->read, 1, in->next_id);
    sql_bind_int(m->read, 2, in->end_id);
    if (!sql_row(m->q, m->read))
        return false;
    struct str block = sql_str(m->read, 1);
    if (run_block_good(m->q, m->kind, block)) {
        buf_clear(&in->block);
        buf_add_str(&in->block, block);
        in->at = 0;
    }
    int64_t id = sql_int(m->read, 0);
    in->next_id = id + 1;
    sql_reset(m->read);
    sql_bind_int(m->take, 1, id);
    sql_run(m->q, m->take);
    return !sql_failed(m->q);
}

static bool is_before(const struct input *a, const struct input *b)
{
    struct run_place x, y;
    memcpy(&x, a->block.p + a->at, sizeof x);
    memcpy(&y, b->block.p + b->at, sizeof y);
    return x.major != y.major ? x.major < y.major : x.minor < y.minor;
}

static void swap(struct input *a, struct input *b)
{
    struct input kept = *a;
    *a = *b;
    *b = kept;
}

static void sink(struct merge *m, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < m->open; child++)
            if (is_before(&m->inputs[child], &m->inputs[least]))
                least = child;
        if (least == at)
            return;
        swap(&m->inputs[at], &m->inputs[least]);
        at = least;
    }
}

static void begin(struct merge *m, const struct runs *from)
{
    m->read =
        sql_prepare_f(m->q, "SELECT id,block FROM %s_%u WHERE id>=? AND id<? ORDER BY id LIMIT 1",
                      run_table(m->kind), m->segment);
    m->take = sql_prepare_f(m->q, "DELETE FROM %s_%u WHERE id=?", run_table(m->kind), m->segment);
    m->inputs = xcalloc(from->count, sizeof *m->inputs);
    for (size_t i = 0; i < from->count; i++) {
        struct input *in = &m->inputs[m->open];
        in->next_id = run_first_id(from->items[i].no);
        in->end_id = run_first_id(from->items[i].no + 1);
        m->open += take_block(m, in); /* false if all panelists of a run have been erased */
    }
    for (size_t at = m->open; at > 0; at--)
        sink(m, at - 1);
}

/* Moves the heap's first input to its next record. */
static void advance(struct merge *m)
{
    struct input *first = &m->inputs[0];
    first->at += run_width(m->kind);
    if (first->at == first->block.n && !take_block(m, first))
        swap(first, &m->inputs[--m->open]);
    sink(m, 0);
}

static void merge_table(struct sql *q, uint32_t segment, enum run_kind kind,
                        const struct runs *from, uint32_t to)
{
    struct merge m = {.q = q, .kind = kind, .segment = segment};
    struct run_writer writer;
    run_writer_begin(&writer, q, segment, kind, to);
    begin(&m, from);
    for (; m.open > 0; advance(&m))
        run_writer_add(&writer, m.inputs[0].block.p + m.inputs[0].at);
    run_writer_end(&writer);
    sql_finalize(m.read);
    sql_finalize(m.take);
    for (size_t i = 0; i < from->count; i++)
        buf_free(&m.inputs[i].block);
    free(m.inputs);
}

/* --- choosing runs --------------------------------------------------------------------------- */

uint32_t run_next(struct sql *q, uint32_t segment)
{
    sqlite3_stmt *s = sql_prepare_f(q, "SELECT max(no) FROM run WHERE segment=%u", segment);
    int64_t last = sql_row(q, s) ? sql_int(s, 0) : 0;
    sql_finalize(s);
    return (uint32_t)last + 1;
}

static void load(struct sql *q, uint32_t segment, struct runs *ret)
{
    sqlite3_stmt *s =
        sql_prepare_f(q, "SELECT no,events FROM run WHERE segment=%u ORDER BY no", segment);
    ret->count = 0;
    while (sql_row(q, s)) {
        ret->items = xgrow(ret->items, &ret->capacity, ret->count + 1, sizeof *ret->items);
        ret->items[ret->count++] = (struct run){(uint32_t)sql_int(s, 0), sql_int(s, 1)};
    }
    sql_finalize(s);
}

static void merge(struct sql *q, uint32_t segment, const struct runs *from)
{
    uint32_t to = run_next(q, segment);
    int64_t events = 0;
    merge_table(q, segment, RUN_KEYS, from, to);
    merge_table(q, segment, RUN_PANELISTS, from, to);
    for (size_t i = 0; i < from->count; i++) {
        events += from->items[i].events;
        sql_exec_f(q, "DELETE FROM run WHERE segment=%u AND no=%u", segment, from->items[i].no);
    }
    sql_exec_f(q, "INSERT INTO run VALUES(%u,%u,%" PRId64 ")", segment, to, events);
}

static int size_of(const struct run *r)
{
    int size = 0;
    for (int64_t events = r->events; events >= RUN_MERGE_COUNT; events /= RUN_MERGE_COUNT)
        size++;
    return size;
}

/* Keeps the runs to merge: the latest ones of that size. False: there are too few, or they are too
 * large together. */
static bool choose(struct runs *runs, int size)
{
    size_t chosen = 0;
    int64_t events = 0;
    for (size_t i = runs->count; i > 0 && chosen < RUN_MERGE_COUNT; i--) {
        if (size_of(&runs->items[i - 1]) != size)
            continue;
        events += runs->items[i - 1].events;
        runs->items[runs->count - ++chosen] = runs->items[i - 1];
    }
    memmove(runs->items, &runs->items[runs->count - chosen], chosen * sizeof *runs->items);
    runs->count = chosen;
    return chosen == RUN_MERGE_COUNT && events <= LIMIT_KEYS_PER_SEGMENT / 2;
}

void run_merge_some(struct sql *q, uint32_t segment)
{
    struct runs runs = {0};
    for (;;) {
        load(q, segment, &runs);
        /* only the last run is new, so only its size can be full */
        if (runs.count == 0 || !choose(&runs, size_of(&runs.items[runs.count - 1])))
            break;
        merge(q, segment, &runs);
    }
    free(runs.items);
}

void run_merge_all(struct sql *q, uint32_t segment)
{
    struct runs runs = {0};
    load(q, segment, &runs);
    if (runs.count > 1)
        merge(q, segment, &runs);
    free(runs.items);
}
