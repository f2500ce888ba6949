/* Counts of attempts by endpoint (store/delivery_stats.h): adds a memtable's counts, one row for
 * each endpoint and five minutes; merges old rows into longer slots or deletes them, one slot at a
 * time, so that transactions stay short. The key begins with the slot, so that rows written or
 * deleted together are adjacent. */
#include "store/sqlite/apply_stats.h"

#include "store/sqlite/apply.h"
#include "store/sqlite/schema.h"

#include <inttypes.h>

static void row_column(const void *context, size_t row, int column, sqlite3_context *to)
{
    struct delivery_stats_row *r = &((struct delivery_stats_row *)context)[row];
    switch (column) {
    case 0: array_vtab_int(to, r->key.slot); break;
    case 1: array_vtab_int(to, r->key.account_no); break;
    case 2: array_vtab_int(to, (int64_t)r->key.lane); break;
    default: array_vtab_int(to, *delivery_stats_column(&r->stats, (size_t)column - 3)); break;
    }
}

#define NAME(name) "," #name
#define NAMES DELIVERY_STATS_COLUMNS(NAME)
#define ADD(name) "," #name "=" #name "+excluded." #name
#define ADD_TO_ROW " ON CONFLICT DO UPDATE SET ok=ok+excluded.ok" DELIVERY_STATS_MORE_COLUMNS(ADD)

sqlite3_stmt *apply_delivery_stats_prepare(struct sql *q)
{
    return sql_prepare(q,
                       "INSERT INTO delivery_stats SELECT 1,c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11,"
                       "c12,c13,c14,c15,c16,c17,c18,c19,c20,c21,c22,c23,c24,c25,c26,c27,c28,c29,"
                       "c30,c31,c32 FROM input WHERE true" ADD_TO_ROW);
}

void apply_delivery_stats(struct apply *a)
{
    const struct memtable *m = a->m;
    delivery_stats_rows_clear(&a->stats.rows);
    for (size_t i = 0; i < m->attempt_count; i++)
        delivery_stats_rows_count(&a->stats.rows, account_of_id(m->attempts[i].id),
                                  m->attempts[i].lane, &m->attempts[i].attempt);
    if (a->stats.rows.count == 0)
        return;
    delivery_stats_rows_end(&a->stats.rows);
    array_vtab_run(&a->sql, a->stats.add, &a->input, a->stats.rows.count, row_column,
                   a->stats.rows.items);
}

/* --- merging ---------------------------------------------------------------------------------- */

static void merge_slot(struct sql *q, int step, int64_t slot)
{
    const struct delivery_stats_step *steps = delivery_stats_steps;
    sql_exec(q, "BEGIN IMMEDIATE");
    if (step < DELIVERY_STATS_STEPS)
        sql_exec_f(q,
                   "INSERT INTO delivery_stats SELECT %d,%" PRId64 ",account_no,lane" NAMES
                   " FROM delivery_stats WHERE step=%d AND slot=%" PRId64 ADD_TO_ROW,
                   step + 1, slot * steps[step - 1].step_ms / steps[step].step_ms, step, slot);
    sql_exec_f(q, "DELETE FROM delivery_stats WHERE step=%d AND slot=%" PRId64, step, slot);
    sql_exec(q, "COMMIT");
}

void apply_delivery_stats_merge(struct apply *a, int64_t now_ms)
{
    struct sql *q = &a->sql;
    for (int step = 1; step <= DELIVERY_STATS_STEPS; step++) {
        int64_t first = delivery_stats_first_kept(step, now_ms), slot;
        while (slot = delivery_stats_first_slot(q, step, first), slot < first)
            merge_slot(q, step, slot);
    }
}

int64_t delivery_stats_first_slot(struct sql *q, int step, int64_t otherwise)
{
    sqlite3_stmt *s = sql_prepare(q, "SELECT slot FROM delivery_stats WHERE step=?"
                                     " ORDER BY slot LIMIT 1");
    sql_bind_int(s, 1, step);
    int64_t slot = sql_row(q, s) ? sql_int(s, 0) : otherwise;
    sql_finalize(s);
    return slot;
}
