/* The keeper: periodic work. It polls for hand-overs, reads the numbers, makes partitions ahead of
 * need and drops old ones. */
#include "store/postgresql/pg_keeper.h"

#include "base/log.h"
#include "domain/retention.h"
#include "store/postgresql/delivery_stats_sql.h"
#include "store/postgresql/handover.h"
#include "store/postgresql/transaction_retry.h"

#include <inttypes.h>

#define KEEPER_LOOK_MS 250
#define KEEPER_NUMBERS_TIMES 20      /* sums over all accounts: a twentieth of the time at most */
#define KEEPER_NUMBERS_MOST_MS 60000 /* after one look that had to wait, for a lock for example */
#define KEEPER_HASTE_MS 50           /* while an answer from another node is expected */
/* After a hand-over more are likely: the next poll comes after a few times the duration of the last
 * one, so that a busy server is not polled more often than it can answer. */
#define KEEPER_HEARD_LEAST_MS 25
#define KEEPER_HEARD_TIMES 3
#define KEEPER_CLUSTER_MS 5000
#define KEEPER_CLUSTER_TIMES 100 /* a hundredth of the time at most: it sums up all accounts */
#define KEEPER_FOLLOWER_AGAIN_MS 60000 /* after one that was not found: looking takes seconds */
#define KEEPER_HOUSE_MS 3600000
#define KEEPER_HOUSE_AGAIN_MS 60000 /* after a failure, because this work may free disk space */
#define LOG_WHOLE_S (2 * 24 * 3600)
#define LOG_SESSIONS_S (30 * 24 * 3600) /* more than twice the longest life of a session */

/* The oldest pending callback: the oldest of each account is the first in its index. */
static const char numbers_query[] =
    "SELECT (SELECT coalesce(sum(last_event_no),0) FROM account)::bigint,"
    "coalesce(sum(pending),0)::bigint,coalesce(sum(delivered),0)::bigint,"
    "coalesce(sum(dead),0)::bigint,"
    "(SELECT min(o.ms) FROM account a CROSS JOIN LATERAL (SELECT accepted_ms AS ms FROM waiting w"
    " WHERE w.account_no=a.account_no AND w.pending ORDER BY accepted_ms LIMIT 1) o),"
    "(SELECT coalesce(max(last_accepted_ms),0) FROM account) FROM total";

enum pg_fate pg_keeper_look(struct postgresql_store *s, struct pg *pg)
{
    struct pg_numbers *n = &s->numbers;
    uint64_t mark = pg_numbers_look(n);
    pg_begin(pg, true);
    args_clear(&pg->args);
    int at = pg_query_prepared(pg, numbers_query);
    enum pg_fate fate = pg_end_read(pg);
    if (fate != PG_OK)
        return fate;
    const PGresult *r = pg_result(pg, at);
    struct pg_counts seen = {pg_int(r, 0, 0), pg_int(r, 0, 1), pg_int(r, 0, 2), pg_int(r, 0, 3)};
    pg_numbers_looked(n, mark, &seen);
    atomic_store(&n->oldest_pending_ms, pg_int(r, 0, 4));
    /* from then on intake keeps it up to date */
    long long never = 0;
    atomic_compare_exchange_strong(&n->last_accepted_ms, &never, pg_int(r, 0, 5));
    return PG_OK;
}

/* Makes the partitions of this period and of the next one. */
static enum pg_fate make_ahead(struct pg *pg, struct pg_partitions *known, int32_t today)
{
    enum pg_fate fate = PG_OK;
    for (int ahead = 0; fate == PG_OK && ahead < 2; ahead++) {
        fate = pg_partition_make(pg, known, PARTITION_PERIOD, pg_period_of_day(today) + ahead);
        if (fate == PG_OK)
            fate = pg_partition_make(pg, known, PARTITION_WEEK, pg_week_of_day(today) + ahead);
    }
    return fate;
}

/* Other nodes read a change within a second. A node that was away for longer than the log is kept
 * must not miss a change either, so each object keeps its first entry, which gives the order in
 * which objects were made, and its last one, after which its document is read. Sessions and
 * Idempotency-Keys have expired by then. */
static enum pg_fate shorten_log(struct pg *pg)
{
    pg_begin(pg, false);
    pg_exec_f(pg,
              "DELETE FROM object_log l WHERE at<now()-interval '%d s'"
              " AND EXISTS(SELECT FROM object_log WHERE kind=l.kind AND id=l.id"
              " AND (revision,number)<(l.revision,l.number))"
              " AND EXISTS(SELECT FROM object_log WHERE kind=l.kind AND id=l.id"
              " AND (revision,number)>(l.revision,l.number))",
              LOG_WHOLE_S);
    pg_exec_f(pg, "DELETE FROM object_log WHERE kind IN(%d,%d) AND at<now()-interval '%d s'",
              OBJECT_SESSION, OBJECT_IDEMPOTENCY_KEY, LOG_SESSIONS_S);
    pg_exec(pg, "DELETE FROM question WHERE asked_at<clock_timestamp()-interval '1 min'");
    pg_commit(pg);
    return pg_sync(pg);
}

/* The first node moves the retention clock (domain/retention_clock.h), which is in the database. */
static enum pg_fate move_clock(struct postgresql_store *s, struct pg *pg,
                               struct retention_clock *clock, int64_t mono_ms)
{
    pg_begin(pg, true);
    int at = pg_exec(pg, "SELECT coalesce((SELECT convert_from(value,'UTF8')::bigint FROM meta"
                         " WHERE name='" PG_META_RETENTION_CLOCK "'),0),"
                         "(SELECT coalesce(max(last_accepted_ms),0) FROM account)");
    enum pg_fate fate = pg_end_read(pg);
    if (fate != PG_OK)
        return fate;
    int64_t before_ms = clock->at_ms = pg_int(pg_result(pg, at), 0, 0);
    int64_t newest_ms = pg_int(pg_result(pg, at), 0, 1);
    retention_log(retention_step(clock, env_wall_ms(s->env), newest_ms, mono_ms), clock, newest_ms);
    if (clock->at_ms == before_ms)
        return PG_OK;
    pg_begin(pg, false);
    pg_exec_f(pg,
              "INSERT INTO meta VALUES('" PG_META_RETENTION_CLOCK "',convert_to('%" PRId64
              "','UTF8')) ON CONFLICT(name) DO UPDATE SET value=EXCLUDED.value",
              clock->at_ms);
    pg_commit(pg);
    return pg_sync(pg);
}

/* Bodies are dropped some days after their limit (domain/retention.h), because a callback may take
 * that long to become final; never while a callback of their period waits, nor before the limit of
 * one that became final later. */
static enum pg_fate drop_old(struct postgresql_store *s, struct pg *pg, int32_t today)
{
    pg_begin(pg, true);
    int at =
        pg_exec(pg, "SELECT EXISTS(SELECT FROM pg_publication WHERE pubname='" PG_MOVE_NAME "')");
    enum pg_fate fate = pg_end_read(pg);
    /* dropping is not replicated: it waits until a move is finished */
    if (fate != PG_OK || pg_int(pg_result(pg, at), 0, 0))
        return fate;
    struct store_retention keep = retention_of(&s->retention);
    int32_t final_from_day = today - keep.bodies_days;
    fate = pg_bodies_drop(pg, pg_period_of_day(final_from_day - RETENTION_SCHEDULE_DAYS),
                          final_from_day);
    if (fate != PG_OK)
        return fate;
    return pg_attempts_drop(pg, pg_week_of_day(today - keep.attempts_days),
                            pg_week_of_day(clock_day(env_wall_ms(s->env))));
}

static enum pg_fate purge(struct postgresql_store *s, struct pg *pg, struct retention_clock *clock,
                          int64_t mono_ms)
{
    enum pg_fate fate = move_clock(s, pg, clock, mono_ms);
    if (fate != PG_OK)
        return fate;
    int64_t now_ms = retention_now_ms(clock, env_wall_ms(s->env));
    atomic_store(&s->numbers.retention_clock_ms, clock->at_ms);
    fate = drop_old(s, pg, clock_day(now_ms));
    return fate == PG_OK ? pg_merge_delivery_stats(pg, now_ms) : fate;
}

/* Work that runs four times a second, however often the keeper polls. */
struct chores {
    struct pg_partitions known;
    struct retention_clock retention;
    int64_t due_mono_ms, numbers_mono_ms, house_mono_ms, rescan_mono_ms;
    bool is_first; /* at the last look: a node that becomes the first begins at once */
};

static bool is_house_due(struct postgresql_store *s, struct chores *c, int64_t now_mono_ms)
{
    bool was_first = c->is_first, is_asked = atomic_exchange(&s->house_asked, false);
    c->is_first = leases_first(&s->nodes.leases);
    return is_asked || now_mono_ms >= c->house_mono_ms || (c->is_first && !was_first);
}

static bool keep_house(struct postgresql_store *s, struct pg *pg, struct chores *c, int64_t mono_ms)
{
    enum pg_fate fate = make_ahead(pg, &c->known, clock_day(env_wall_ms(s->env)));
    /* only the first node drops and shortens */
    if (fate == PG_OK && c->is_first)
        fate = purge(s, pg, &c->retention, mono_ms);
    if (fate == PG_OK && c->is_first)
        fate = shorten_log(pg);
    if (fate != PG_OK) {
        log_warning("partitions_not_kept", LOG_STR("why", buf_str(&pg->why)));
        pg_partitions_free(&c->known); /* one may have been dropped: the next round looks again */
    }
    return fate == PG_OK;
}

/* The pause before the next poll, by the duration of the last one. */
static int64_t pause_behind(int64_t pause_ms, int64_t took_us, bool heard)
{
    pause_ms = heard ? took_us * KEEPER_HEARD_TIMES / 1000 : pause_ms * 2;
    if (pause_ms < KEEPER_HEARD_LEAST_MS)
        return KEEPER_HEARD_LEAST_MS;
    return pause_ms < KEEPER_LOOK_MS ? pause_ms : KEEPER_LOOK_MS;
}

/* For people. The follower of a move is asked only while there is one. */
static void look_at_cluster(struct postgresql_store *s, struct pg *pg, int64_t now_mono_ms)
{
    struct pg_cluster_watch *w = &s->watch;
    struct cluster_state seen = {0};
    struct pg_move_facts facts;
    if (now_mono_ms < w->due_mono_ms)
        return;
    int64_t begin_mono_ms = env_mono_ms(env_real());
    bool good = pg_cluster_look(pg, &seen, &facts);
    int64_t end_mono_ms = env_mono_ms(env_real());
    int64_t pause_ms = KEEPER_CLUSTER_TIMES * (end_mono_ms - begin_mono_ms);
    w->due_mono_ms = end_mono_ms + (pause_ms > KEEPER_CLUSTER_MS ? pause_ms : KEEPER_CLUSTER_MS);
    if (!good)
        return;
    if (seen.move.step == MOVE_UNSEEN && now_mono_ms >= w->follower_due_mono_ms &&
        !pg_cluster_look_at_follower(pg, facts.follower, &seen.move))
        w->follower_due_mono_ms = now_mono_ms + KEEPER_FOLLOWER_AGAIN_MS;
    pthread_mutex_lock(&w->mutex);
    w->seen = seen;
    pthread_mutex_unlock(&w->mutex);
}

static enum pg_fate look_at_numbers(struct postgresql_store *s, struct chores *c,
                                    int64_t now_mono_ms)
{
    if (now_mono_ms < c->numbers_mono_ms)
        return PG_OK;
    int64_t begin_mono_ms = env_mono_ms(env_real());
    enum pg_fate fate = pg_keeper_look(s, &s->keeper);
    int64_t end_mono_ms = env_mono_ms(env_real());
    int64_t pause_ms = fate == PG_OK ? KEEPER_NUMBERS_TIMES * (end_mono_ms - begin_mono_ms) : 0;
    c->numbers_mono_ms =
        end_mono_ms + (pause_ms < KEEPER_NUMBERS_MOST_MS ? pause_ms : KEEPER_NUMBERS_MOST_MS);
    return fate;
}

static void do_chores(struct postgresql_store *s, struct chores *c, int64_t now_mono_ms)
{
    if (now_mono_ms < c->due_mono_ms)
        return;
    enum pg_fate fate = questions_step(s, &s->keeper);
    if (fate == PG_OK)
        fate = handover_rescan(s, &s->keeper, &c->rescan_mono_ms);
    if (fate == PG_LOST)
        return;
    if (is_house_due(s, c, now_mono_ms)) {
        bool good = keep_house(s, &s->keeper, c, now_mono_ms);
        c->house_mono_ms = now_mono_ms + (good ? KEEPER_HOUSE_MS : KEEPER_HOUSE_AGAIN_MS);
    }
    c->due_mono_ms = now_mono_ms + (s->questions.busy ? KEEPER_HASTE_MS : KEEPER_LOOK_MS);
    if (look_at_numbers(s, c, now_mono_ms) == PG_OK)
        look_at_cluster(s, &s->keeper, now_mono_ms);
}

void *pg_keeper_main(void *arg)
{
    struct postgresql_store *s = arg;
    CHECK_MAGIC(s, POSTGRESQL_STORE_MAGIC);
    pthread_setname_np(pthread_self(), "store-keeper");
    struct chores chores = {0};
    struct hearing hearing = {0};
    int64_t pause_ms = KEEPER_LOOK_MS;
    for (;;) {
        bool haste = s->questions.busy && pause_ms > KEEPER_HASTE_MS;
        if (queue_has_any(&s->to_keeper, haste ? KEEPER_HASTE_MS : pause_ms))
            break;
        questions_expire(&s->questions);
        if (!pg_store_connect(s, &s->keeper)) {
            pg_store_note_away(s, &s->keeper, true);
            chores.numbers_mono_ms = 0; /* they may be another server's by then */
            continue;
        }
        pg_room_look(&s->numbers.room, &s->keeper, env_mono_ms(env_real()));
        int64_t begin_us = timing_now_us();
        enum pg_fate fate = handover_poll(s, &s->keeper, &hearing);
        pause_ms = pause_behind(pause_ms, timing_now_us() - begin_us, hearing.heard);
        if (fate == PG_OK)
            do_chores(s, &chores, env_mono_ms(env_real()));
    }
    pg_partitions_free(&chores.known);
    return NULL;
}
