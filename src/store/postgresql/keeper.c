/* The keeper: what has to be done from time to time. It hears what other nodes hand over, reads the
 * numbers, makes partitions before they are needed and drops those that are too old. */
#include "store/postgresql/handover.h"

#include "base/log.h"
#include "domain/clock.h"

#define KEEPER_LOOK_MS 250
#define KEEPER_HASTE_MS 50 /* an answer is on its way */
#define KEEPER_HOUSE_MS 3600000
#define LOG_KEPT_S (2 * 24 * 3600)

/* The oldest: by account, the first that waits. */
static const char numbers_query[] =
    "SELECT (SELECT coalesce(sum(last_event_no),0) FROM account)::bigint,"
    "coalesce(sum(pending),0)::bigint,coalesce(sum(delivered),0)::bigint,"
    "coalesce(sum(dead),0)::bigint,"
    "(SELECT min(o.ms) FROM account a CROSS JOIN LATERAL (SELECT accepted_ms AS ms FROM waiting w"
    " WHERE w.account_no=a.account_no AND w.pending ORDER BY accepted_ms LIMIT 1) o),"
    "(SELECT coalesce(max(last_accepted_ms),0) FROM account) FROM total";

bool pg_keeper_look(struct postgresql_store *s, struct pg *pg)
{
    struct pg_numbers *n = &s->numbers;
    uint64_t mark = pg_numbers_look(n);
    pg_begin(pg, true);
    int at = pg_exec(pg, numbers_query);
    if (pg_end_read(pg) != PG_FINE)
        return false;
    const PGresult *r = pg_result(pg, at);
    struct pg_counts seen = {pg_int(r, 0, 0), pg_int(r, 0, 1), pg_int(r, 0, 2), pg_int(r, 0, 3)};
    pg_numbers_looked(n, mark, &seen);
    atomic_store(&n->oldest_pending_ms, pg_int(r, 0, 4));
    /* From then on whoever takes events in knows better. */
    long long never = 0;
    atomic_compare_exchange_strong(&n->last_accepted_ms, &never, pg_int(r, 0, 5));
    return true;
}

/* This one's partitions and the next one's. */
static enum pg_fate make_ahead(struct pg *pg, struct pg_partitions *known, int32_t today)
{
    enum pg_fate fate = PG_FINE;
    for (int ahead = 0; fate == PG_FINE && ahead < 2; ahead++) {
        fate = pg_partition_make(pg, known, PARTITION_PERIOD, pg_period_of_day(today) + ahead);
        if (fate == PG_FINE)
            fate = pg_partition_make(pg, known, PARTITION_WEEK, pg_week_of_day(today) + ahead);
    }
    return fate;
}

/* What other nodes have changed is known to all within a second: whoever was away for longer than
 * this starts again. */
static enum pg_fate trim_log(struct pg *pg)
{
    pg_begin(pg, false);
    pg_exec_f(pg,
              "WITH old AS (DELETE FROM object_log WHERE at<clock_timestamp()-interval '%d s'"
              " RETURNING revision) UPDATE revision SET trimmed=greatest(trimmed,"
              "(SELECT coalesce(max(revision),0) FROM old)) WHERE name='object'",
              LOG_KEPT_S);
    pg_exec(pg, "DELETE FROM question WHERE asked_at<clock_timestamp()-interval '1 min'");
    pg_commit(pg);
    return pg_sync(pg);
}

/* Bodies go four days after their limit, as a callback may take that long to become final, and
 * never while anything of their period waits. */
static enum pg_fate drop_old(struct postgresql_store *s, struct pg *pg, int32_t today)
{
    pg_begin(pg, true);
    int at = pg_exec(pg, "SELECT coalesce(min(period),2147483647) FROM waiting");
    enum pg_fate fate = pg_end_read(pg);
    if (fate != PG_FINE)
        return fate;
    int64_t waiting = pg_int(pg_result(pg, at), 0, 0);
    int32_t bodies = pg_period_of_day(today - s->retention.bodies_days - 4);
    if (bodies > waiting)
        bodies = (int32_t)waiting;
    fate = pg_partitions_drop(pg, PARTITION_PERIOD, bodies);
    if (fate != PG_FINE)
        return fate;
    return pg_partitions_drop(pg, PARTITION_WEEK,
                              pg_week_of_day(today - s->retention.attempts_days));
}

static void keep_house(struct postgresql_store *s, struct pg *pg, struct pg_partitions *known)
{
    int32_t today = clock_day(env_wall_ms(s->env));
    enum pg_fate fate = make_ahead(pg, known, today);
    /* One node is enough for what goes. */
    bool first = leases_first(&s->nodes.leases);
    if (fate == PG_FINE && first)
        fate = drop_old(s, pg, today);
    if (fate == PG_FINE && first)
        fate = trim_log(pg);
    if (fate == PG_FINE)
        return;
    log_warning("partitions_not_kept", LOG_STR("why", buf_str(&pg->why)));
}

void *pg_keeper_main(void *arg)
{
    struct postgresql_store *s = arg;
    CHECK_MAGIC(s, POSTGRESQL_STORE_MAGIC);
    pthread_setname_np(pthread_self(), "store-keeper");
    struct pg_partitions known = {0};
    int64_t house_at = 0, rescan_at = 0;
    while (!queue_has_any(&s->to_keeper, s->questions.busy ? KEEPER_HASTE_MS : KEEPER_LOOK_MS)) {
        int64_t now = env_mono_ms(env_real());
        questions_expire(&s->questions);
        if (!pg_connect(&s->keeper)) {
            pg_store_note_away(s, &s->keeper, true);
            continue;
        }
        enum pg_fate fate = handover_poll(s, &s->keeper);
        if (fate == PG_FINE)
            fate = questions_step(s, &s->keeper);
        if (fate == PG_FINE)
            fate = handover_rescan(s, &s->keeper, &rescan_at);
        if (fate == PG_LOST) {
            pg_store_note_away(s, &s->keeper, true);
            continue;
        }
        if (now >= house_at) {
            keep_house(s, &s->keeper, &known);
            house_at = now + KEEPER_HOUSE_MS;
        }
        if (!pg_keeper_look(s, &s->keeper))
            pg_store_note_away(s, &s->keeper, true);
    }
    pg_partitions_free(&known);
    return NULL;
}
