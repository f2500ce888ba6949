/* A count of 0 is stored as NULL, which takes no space in the row. */
#include "store/postgresql/delivery_stats_sql.h"

#include <inttypes.h>

#define NAME(name) "," #name
#define NAMES DELIVERY_STATS_COLUMNS(NAME)
#define SUM(name) ",sum(" #name ")::bigint"
#define SUMS DELIVERY_STATS_COLUMNS(SUM)
#define ADD(name) "," ADD_ONE(name)
#define ADD_ONE(name)                                                                              \
#name "=coalesce(d." #name "+excluded." #name ",d." #name ",excluded." #name ")"
#define ADD_TO_ROW                                                                                 \
    " ON CONFLICT(step,slot,account_no,lane) DO UPDATE SET " ADD_ONE(ok)                           \
        DELIVERY_STATS_MORE_COLUMNS(ADD)

void pg_add_delivery_stats(struct pg *pg, struct pg_table *t, struct delivery_stats_rows *rows)
{
    if (rows->count == 0)
        return;
    delivery_stats_rows_end(rows);
    table_begin(t, "lil"
                   "llllllllllllllllllllllllllllll");
    ASSERT(t->count == 3 + DELIVERY_STATS_COUNTS);
    for (size_t i = 0; i < rows->count; i++) {
        struct delivery_stats_row *r = &rows->items[i];
        column_int(&t->columns[0], r->key.slot);
        column_int(&t->columns[1], r->key.account_no);
        column_int(&t->columns[2], (int64_t)r->key.lane);
        for (size_t k = 0; k < DELIVERY_STATS_COUNTS; k++)
            column_int_or_null(&t->columns[3 + k], *delivery_stats_column(&r->stats, k));
    }
    pg_query_table(pg, t,
                   "INSERT INTO delivery_stats AS d SELECT 1,u.* FROM unnest($1,$2,$3,$4,$5,"
                   "$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,"
                   "$25,$26,$27,$28,$29,$30,$31,$32,$33) u" ADD_TO_ROW);
}

#define ADD_ATTEMPTS                                                                               \
    "INSERT INTO attempt SELECT * FROM unnest($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13)"

void pg_add_attempts(struct pg *pg, const struct pg_table *t)
{
    pg_query_table(pg, t, ADD_ATTEMPTS);
}

enum pg_fate pg_add_attempts_again(struct pg *pg, const struct pg_table *t,
                                   struct delivery_stats_rows *count)
{
    if (table_rows(t) == 0)
        return PG_OK;
    args_table(pg_args(pg), t);
    int at = pg_query(pg, ADD_ATTEMPTS " ON CONFLICT DO NOTHING RETURNING account_no,lane,at_ms,"
                                       "class,duration_ms");
    enum pg_fate fate = pg_sync(pg);
    const PGresult *r = fate == PG_OK ? pg_result(pg, at) : NULL;
    for (int i = 0; r && i < PQntuples(r); i++) {
        struct attempt a = {
            .at_ms = pg_int(r, i, 2),
            .class = (enum attempt_class)pg_int(r, i, 3),
            .duration_ms = (int32_t)pg_int(r, i, 4),
        };
        delivery_stats_rows_count(count, (uint32_t)pg_int(r, i, 0), (lane_no)pg_int(r, i, 1), &a);
    }
    return fate;
}

static void merge_step(struct pg *pg, int step, int64_t first)
{
    const struct delivery_stats_step *steps = delivery_stats_steps;
    if (step == DELIVERY_STATS_STEPS) {
        pg_exec_f(pg, "DELETE FROM delivery_stats WHERE step=%d AND slot<%" PRId64, step, first);
        return;
    }
    pg_exec_f(pg,
              "WITH old AS (DELETE FROM delivery_stats WHERE step=%d AND slot<%" PRId64
              " RETURNING *) INSERT INTO delivery_stats AS d SELECT %d,slot/%" PRId64
              ",account_no,lane" SUMS " FROM old GROUP BY 2,3,4 ORDER BY 2,3,4" ADD_TO_ROW,
              step, first, step + 1, steps[step].step_ms / steps[step - 1].step_ms);
}

enum pg_fate pg_merge_delivery_stats(struct pg *pg, int64_t now_ms)
{
    enum pg_fate fate = PG_OK;
    for (int step = 1; fate == PG_OK && step <= DELIVERY_STATS_STEPS; step++) {
        pg_begin(pg, false);
        pg_take_long(pg);
        merge_step(pg, step, delivery_stats_first_kept(step, now_ms));
        pg_commit(pg);
        fate = pg_sync(pg);
    }
    return fate;
}

/* Looks each slot up by key: a slot has the rows of all accounts next to each other. */
static int ask_step(struct pg *pg, const struct delivery_stats_query *q, int step)
{
    int64_t first, last;
    lane_no first_lane, last_lane;
    delivery_stats_slots(q, step, &first, &last);
    delivery_stats_lanes(q, &first_lane, &last_lane);
    args_int(pg_args(pg), PG_INT2, step);
    args_int(&pg->args, PG_INT8, first);
    args_int(&pg->args, PG_INT8, last);
    args_int(&pg->args, PG_INT4, q->account_no);
    args_int(&pg->args, PG_INT8, (int64_t)first_lane);
    args_int(&pg->args, PG_INT8, (int64_t)last_lane);
    return pg_query(pg, "SELECT slot" NAMES " FROM delivery_stats WHERE step=$1 AND slot=ANY(ARRAY("
                        "SELECT generate_series(greatest($2,(SELECT min(slot) FROM delivery_stats"
                        " WHERE step=$1)),$3))) AND account_no=$4 AND lane BETWEEN $5 AND $6");
}

static void add_step(struct delivery_stats_query *q, int step, const PGresult *r)
{
    for (int row = 0; row < PQntuples(r); row++) {
        struct delivery_stats *to =
            delivery_stats_point(q, pg_int(r, row, 0) * delivery_stats_steps[step - 1].step_ms);
        for (size_t i = 0; to && i < DELIVERY_STATS_COUNTS; i++)
            *delivery_stats_column(to, i) += pg_int(r, row, (int)i + 1);
    }
}

enum pg_fate pg_read_delivery_stats(struct postgresql_store *s, struct pg *pg, void *query)
{
    (void)s;
    struct delivery_stats_query *q = query;
    int at[DELIVERY_STATS_STEPS];
    memset(q->points, 0, sizeof q->points); /* an earlier try may have filled them */
    pg_begin_snapshot(pg);
    for (int step = 1; step <= DELIVERY_STATS_STEPS; step++)
        at[step - 1] = ask_step(pg, q, step);
    enum pg_fate fate = pg_end_read(pg);
    for (int step = 1; fate == PG_OK && step <= DELIVERY_STATS_STEPS; step++)
        add_step(q, step, pg_result(pg, at[step - 1]));
    return fate;
}
