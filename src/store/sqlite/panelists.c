/* Finds a panelist's events by walking the runs of a set (run.h). In each run they are in
 * consecutive blocks, almost always in one or two. Active Panelists: apply_reports.c. */
#include "store/sqlite/panelists.h"

#include "base/sort.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/sqlite/run.h"

/* --- blocks -------------------------------------------------------------------------------------
 */

/* Visits all blocks with matching records, of the latest run first. */
struct panelist_walk {
    struct sql *q;
    const struct panelist_query *of;
    sqlite3_stmt *runs, *blocks;
    bool in_run;
    /* The current block: its records from `first` to before `end` match. */
    int64_t id;
    struct str block; /* valid until the next block */
    size_t first, end;
};

/* The last block with an id below the hash's may hold the first of its records, so the walk begins
 * there. */
static void walk_begin(struct panelist_walk *w, struct sql *q, const struct panelist_query *of)
{
    *w = (struct panelist_walk){.q = q, .of = of};
    w->runs = sql_prepare_f(q,
                            "SELECT no,(SELECT max(id) FROM panelists_%u WHERE id>=no<<%d"
                            " AND id<(no<<%d)+?) FROM run WHERE set_no=%u ORDER BY no DESC",
                            of->set, RUN_ID_BITS, RUN_ID_BITS, of->set);
    w->blocks = sql_prepare_f(
        q, "SELECT id,block FROM panelists_%u WHERE id>=? AND id<? ORDER BY id", of->set);
    sql_bind_int(w->runs, 1, run_block_id(0, of->hash));
}

static bool next_run(struct panelist_walk *w)
{
    if (!sql_row(w->q, w->runs))
        return false;
    uint32_t run = (uint32_t)sql_int(w->runs, 0);
    int64_t before = sql_int(w->runs, 1); /* 0: no such block */
    sql_reset(w->blocks);
    sql_bind_int(w->blocks, 1, before ? before : run_first_id(run));
    sql_bind_int(w->blocks, 2, run_first_id(run + 1));
    w->in_run = true;
    return true;
}

/* The next block of the run with matching records. */
static bool next_block(struct panelist_walk *w)
{
    const struct panelist_query *of = w->of;
    while (sql_row(w->q, w->blocks)) {
        w->id = sql_int(w->blocks, 0);
        w->block = sql_str(w->blocks, 1);
        if (!run_block_good(w->q, RUN_PANELISTS, w->block))
            return false;
        struct run_place begin = {of->hash, of->range.first},
                         behind = {of->hash, of->range.last + 1};
        w->first = run_block_find(RUN_PANELISTS, w->block, begin);
        w->end = run_block_find(RUN_PANELISTS, w->block, behind);
        if (w->first < w->end)
            return true;
        if (w->end == 0) /* everything in it is after the range */
            return false;
    }
    return false;
}

static bool walk_next(struct panelist_walk *w)
{
    for (;;) {
        if (w->in_run && next_block(w))
            return true;
        if (!next_run(w))
            return false;
    }
}

static void walk_end(struct panelist_walk *w)
{
    sql_finalize(w->blocks);
    sql_finalize(w->runs);
}

/* --- ids ----------------------------------------------------------------------------------------
 */

static size_t keep_first(const struct panelist_query *of, uint64_t *ids, size_t count, size_t most)
{
    qsort(ids, count, sizeof *ids,
          of->newest_first ? sort_compare_numbers_descending : sort_compare_numbers);
    return count < most ? count : most;
}

/* In a block, a panelist's records are ordered by id. */
size_t panelist_ids(struct sql *q, const struct panelist_query *of, uint64_t *ids, size_t most)
{
    size_t count = 0;
    struct panelist_walk w;
    for (walk_begin(&w, q, of); walk_next(&w);) {
        if (w.end - w.first > most && of->newest_first)
            w.first = w.end - most;
        else if (w.end - w.first > most)
            w.end = w.first + most;
        if (count + w.end - w.first > 2 * most)
            count = keep_first(of, ids, count, most);
        for (size_t i = w.first; i < w.end; i++)
            ids[count++] = run_block_place(RUN_PANELISTS, w.block, i).minor;
    }
    walk_end(&w);
    return keep_first(of, ids, count, most);
}

/* --- erasing --------------------------------------------------------------------------------- */

static void write_rest(struct panelist_walk *w)
{
    size_t width = run_width(RUN_PANELISTS);
    struct buf rest = {0};
    buf_add(&rest, w->block.p, w->first * width);
    buf_add(&rest, w->block.p + w->end * width, w->block.n - w->end * width);
    sqlite3_stmt *s =
        rest.n > 0 ? sql_prepare_f(w->q, "UPDATE panelists_%u SET block=?2 WHERE id=?1", w->of->set)
                   : sql_prepare_f(w->q, "DELETE FROM panelists_%u WHERE id=?1", w->of->set);
    sql_bind_int(s, 1, w->id);
    if (rest.n > 0)
        sql_bind_blob(s, 2, buf_str(&rest));
    sql_run(w->q, s);
    sql_finalize(s);
    buf_free(&rest);
}

void panelist_forget(struct sql *q, const struct panelist_query *of)
{
    bool more = true;
    struct panelist_walk w;
    for (walk_begin(&w, q, of); more && walk_next(&w);) {
        write_rest(&w);
        more = of->range.first < of->range.last; /* an event is in only one run */
    }
    walk_end(&w);
}
