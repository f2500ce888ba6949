/* A heap of runs, ordered by their current records. */
#include "store/sqlite/run_inputs.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static struct run_place place_of(const struct run_input *in)
{
    struct run_place place;
    memcpy(&place, in->block.p + in->at, sizeof place);
    return place;
}

/* --- one run --------------------------------------------------------------------------------- */

static bool read_block(struct run_inputs *all, struct run_input *in)
{
    struct sql *q = all->q;
    sql_bind_int(in->read, 1, in->next_id);
    sql_bind_int(in->read, 2, in->end_id);
    if (!sql_row(q, in->read))
        return false;
    struct str block = sql_str(in->read, 1);
    if (run_block_good(q, all->kind, block)) {
        buf_clear(&in->block);
        buf_add_str(&in->block, block);
        in->at = 0;
    }
    int64_t id = sql_int(in->read, 0);
    in->next_id = id + 1;
    sql_reset(in->read);
    if (in->take) {
        sql_bind_int(in->take, 1, id);
        sql_run(q, in->take);
    }
    return !sql_failed(q);
}

/* Goes to the first record within the bounds that is not before the current one. False: the run has
 * no more of them. */
static bool settle(struct run_inputs *all, struct run_input *in)
{
    for (;; in->at += run_width(all->kind)) {
        if (in->at == in->block.n && !read_block(all, in))
            return false;
        uint64_t major = place_of(in).major;
        if (major >= all->bounds.first)
            return major <= all->bounds.last;
    }
}

/* The last block whose id is below the bound's may hold the first record: run.h. */
static int64_t first_block(struct run_inputs *all, uint32_t set, uint32_t run)
{
    sqlite3_stmt *s = sql_prepare_f(all->q, "SELECT max(id) FROM %s_%u WHERE id>=? AND id<?",
                                    run_table(all->kind), set);
    sql_bind_int(s, 1, run_first_id(run));
    sql_bind_int(s, 2, run_block_id(run, all->bounds.first));
    int64_t id = sql_row(all->q, s) ? sql_int(s, 0) : 0;
    sql_finalize(s);
    return id ? id : run_first_id(run);
}

/* --- the heap -------------------------------------------------------------------------------- */

static bool is_before(const struct run_input *a, const struct run_input *b)
{
    struct run_place x = place_of(a), y = place_of(b);
    return x.major != y.major ? x.major < y.major : x.minor < y.minor;
}

static void swap(struct run_input *a, struct run_input *b)
{
    struct run_input kept = *a;
    *a = *b;
    *b = kept;
}

static void sink(struct run_inputs *in, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < in->open; child++)
            if (is_before(&in->items[child], &in->items[least]))
                least = child;
        if (least == at)
            return;
        swap(&in->items[at], &in->items[least]);
        at = least;
    }
}

void run_inputs_begin(struct run_inputs *in, struct sql *q, enum run_kind kind,
                      struct run_bounds bounds, bool takes)
{
    *in = (struct run_inputs){.q = q, .kind = kind, .bounds = bounds, .takes = takes};
}

void run_inputs_add(struct run_inputs *in, uint32_t set, uint32_t run)
{
    const char *table = run_table(in->kind);
    struct run_input *added = ARRAY_PUSH(in->items, in->count, in->capacity);
    *added = (struct run_input){
        .next_id = first_block(in, set, run),
        .end_id = run_first_id(run + 1),
        .read = sql_prepare_f(in->q,
                              "SELECT id,block FROM %s_%u WHERE id>=? AND id<? ORDER BY id LIMIT 1",
                              table, set),
    };
    if (in->takes)
        added->take = sql_prepare_f(in->q, "DELETE FROM %s_%u WHERE id=?", table, set);
    if (settle(in, added)) /* not if all panelists of a run have been erased */
        swap(added, &in->items[in->open++]);
}

const void *run_inputs_next(struct run_inputs *in)
{
    struct run_input *first = in->items;
    if (!in->begun) {
        for (size_t at = in->open; at > 0; at--)
            sink(in, at - 1);
        in->begun = true;
    } else if (in->open > 0) {
        first->at += run_width(in->kind);
        if (!settle(in, first))
            swap(first, &in->items[--in->open]);
        sink(in, 0);
    }
    return in->open > 0 && !sql_failed(in->q) ? first->block.p + first->at : NULL;
}

void run_inputs_end(struct run_inputs *in)
{
    for (size_t i = 0; i < in->count; i++) {
        sql_finalize(in->items[i].read);
        sql_finalize(in->items[i].take);
        buf_free(&in->items[i].block);
    }
    free(in->items);
    *in = (struct run_inputs){0};
}
