/* The server counts the attempts, because only the server knows which attempts of a group are new:
 * first by endpoint, class and bucket, then into the columns of the rows of the endpoint and of the
 * account. A count of 0 is stored as NULL, which takes no space in the row. */
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

/* A bucket goes by its upper bound; NULL: the attempt's duration is not measured. */
#define OF_CLASS(name, number) ",sum(n) FILTER (WHERE class=" #number ")::bigint"
#define OF_BUCKET(ms) ",sum(n) FILTER (WHERE bucket=" #ms ")::bigint"
#define MEASURED(name, number)
#define NO_BUCKET(name, number) " WHEN class=" #number " THEN NULL"
#define BUCKET(ms) " WHEN duration_ms<=" #ms " THEN " #ms
/* clang-format off */
#define ADD_ATTEMPTS \
    "WITH added AS (INSERT INTO attempt SELECT * FROM unnest($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,"\
    "$12,$13)"
#define AND_COUNT_THEM \
    " RETURNING account_no,lane,at_ms,class,duration_ms),"\
    "counted AS (SELECT at_ms/" NUMBER_AS_TEXT(DELIVERY_STATS_SLOT_MS) " AS slot,account_no,lane,"\
    "class,CASE" LATENCY_OF_ATTEMPTS(MEASURED, NO_BUCKET) LATENCY_BOUNDS(BUCKET, LATENCY_NONE)\
    " ELSE " NUMBER_AS_TEXT(LATENCY_LAST_MS) " END AS bucket,count(*) AS n"\
    " FROM added GROUP BY 1,2,3,4,5)"\
    "INSERT INTO delivery_stats AS d SELECT 1,slot,account_no,l"\
    LATENCY_OF_ATTEMPTS(OF_CLASS, OF_CLASS) LATENCY_BOUNDS(OF_BUCKET, LATENCY_NONE)\
    " FROM counted CROSS JOIN LATERAL (VALUES(lane),(0)) AS v(l) GROUP BY slot,account_no,l"\
    " ORDER BY slot,account_no,l" ADD_TO_ROW
/* clang-format on */
const char pg_add_attempts[] = ADD_ATTEMPTS " ON CONFLICT DO NOTHING" AND_COUNT_THEM;
const char pg_add_new_attempts[] = ADD_ATTEMPTS AND_COUNT_THEM;

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
