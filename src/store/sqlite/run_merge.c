/* The runs of an open segment, and of one that is being closed. */
#include "store/sqlite/run_merge.h"

#include "base/alloc.h"
#include "base/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/sqlite/run.h"
#include "store/sqlite/run_inputs.h"

struct run {
    uint32_t no;
    int64_t events;
};

struct runs {
    struct run *items;
    size_t count, capacity;
};

static void merge_table(struct sql *q, uint32_t segment, enum run_kind kind,
                        const struct runs *from, uint32_t to)
{
    struct run_inputs inputs;
    struct run_writer writer;
    run_writer_begin(&writer, q, segment, kind, to);
    run_inputs_begin(&inputs, q, kind, RUN_EVERYTHING, true);
    for (size_t i = 0; i < from->count; i++)
        run_inputs_add(&inputs, segment, from->items[i].no);
    for (const void *record; (record = run_inputs_next(&inputs)) != NULL;)
        run_writer_add(&writer, record);
    run_writer_end(&writer);
    run_inputs_end(&inputs);
}

/* --- choosing runs --------------------------------------------------------------------------- */

uint32_t run_next(struct sql *q, uint32_t segment)
{
    sqlite3_stmt *s = sql_prepare_f(q, "SELECT max(no) FROM run WHERE set_no=%u", segment);
    int64_t last = sql_row(q, s) ? sql_int(s, 0) : 0;
    sql_finalize(s);
    return (uint32_t)last + 1;
}

static void load(struct sql *q, uint32_t segment, struct runs *ret)
{
    sqlite3_stmt *s =
        sql_prepare_f(q, "SELECT no,events FROM run WHERE set_no=%u ORDER BY no", segment);
    ret->count = 0;
    while (sql_row(q, s)) {
        *ARRAY_PUSH(ret->items, ret->count, ret->capacity) =
            (struct run){(uint32_t)sql_int(s, 0), sql_int(s, 1)};
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
        sql_exec_f(q, "DELETE FROM run WHERE set_no=%u AND no=%u", segment, from->items[i].no);
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
