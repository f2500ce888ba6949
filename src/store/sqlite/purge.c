/* Drops old data in whole tables: a day of attempts, a day's set of active panelists, a segment's
 * bodies. Single rows are never deleted. How old a body must be: domain/retention.h. By which
 * clock: domain/retention_clock.h.
 *
 * Data of a callback that is not final is never purged. When a day of attempts is dropped, the
 * attempts of waiting callbacks are first copied to the table attempts_kept. When such a callback
 * is final, the next purge moves its attempts to the table of the current day. A segment's bodies
 * stay until its last callback has been final for the configured number of days.
 *
 * A purge that fails because the disk is full is retried after an hour. Any other failure is the
 * connection's sticky failure (sql.h). */
#include "store/sqlite/purge.h"

#include "base/log.h"
#include "domain/retention.h"
#include "store/sqlite/apply_stats.h"
#include "store/sqlite/sqlite_store.h"

#include <inttypes.h>
#include <stdio.h>

/* The first table NAME_<day> older than before_day, except the days in `kept`. */
struct old_day {
    char table[64]; /* empty: there is none */
    int64_t day;
};

static struct old_day find_day(struct apply *a, const char *name, int64_t before_day,
                               const struct idmap *kept)
{
    struct sql *q = &a->sql;
    struct old_day found = {0};
    sqlite3_stmt *s =
        sql_prepare_f(q,
                      "SELECT name,CAST(substr(name, %zu) AS INT) AS day FROM sqlite_schema"
                      " WHERE type='table' AND name GLOB '%s_[-0-9]*' AND day < %" PRId64,
                      strlen(name) + 2, name, before_day);
    while (!found.table[0] && sql_row(q, s)) {
        found.day = sql_int(s, 1);
        if (!kept || !idmap_find(kept, apply_day_key(found.day)))
            snprintf(found.table, sizeof found.table, "%.*s", STR_ARG(sql_str(s, 0)));
    }
    sql_finalize(s);
    return found;
}

static void drop_day(struct apply *a, const struct old_day *old)
{
    apply_drop_cached(a);
    sql_exec_f(&a->sql, "DROP TABLE \"%s\"", old->table);
    if (!sql_failed(&a->sql))
        log_debug("purged", LOG_C("table", old->table));
}

/* --- attempts: those of callbacks that are not final move to attempts_kept, and then on --------
 */

struct keeping {
    struct attempt_chunk *chunk;
    uint64_t id;
    const struct attempt_facts *facts;
    size_t count;
};

static void keep_attempt(void *context, const struct attempt *attempt)
{
    struct keeping *k = context;
    attempt_chunk_add(k->chunk, k->id, attempt, k->facts);
    k->count++;
}

/* Copies the attempts of one event in a block, as a block of their own. */
static void keep_event(struct apply *a, sqlite3_stmt *add, sqlite3_stmt *from)
{
    struct arena arena = {0};
    struct attempt_facts facts = {sql_str(from, 1), sql_int(from, 2)};
    struct keeping k = {a->attempt.chunk, (uint64_t)sql_int(from, 0), &facts, 0};
    buf_clear(&k.chunk->texts.out);
    attempt_chunk_begin(k.chunk);
    attempt_block_read(sql_str(from, 3), k.id, &facts, &arena, keep_attempt, &k);
    attempt_chunk_end(k.chunk);
    if (k.count > 0) {
        sql_bind_int(add, 1, (int64_t)(k.id >> ATTEMPT_BLOCK_BITS));
        sql_bind_blob(add, 2, buf_str(&k.chunk->texts.out));
        sql_run(&a->sql, add);
    }
    arena_free(&arena);
}

/* Kept attempts whose callback has become final move to the table that today's attempts are written
 * to, and so go with it: when their limit has passed once more. */
static void move_final(struct apply *a, int64_t today)
{
    struct sql *q = &a->sql;
    char table[32];
    snprintf(table, sizeof table, "attempts_%" PRId64, today);
    schema_create_attempts(q, table);
    sqlite3_stmt *add = schema_prepare_attempts(q, table, "VALUES(?,?)");
    sqlite3_stmt *s = sql_prepare_f(q,
                                    "SELECT e.id,e.event_id,e.occurred_ms,t.attempts"
                                    " FROM attempts_kept AS t CROSS JOIN event AS e"
                                    " ON e.id>=t.block<<%d AND e.id<(t.block+1)<<%d"
                                    " AND e.state<>%d AND e.attempts>0",
                                    ATTEMPT_BLOCK_BITS, ATTEMPT_BLOCK_BITS, CALLBACK_PENDING);
    while (sql_row(q, s))
        keep_event(a, add, s);
    sql_finalize(s);
    sql_finalize(add);
}

/* Starts from the waiting callbacks, so that the cost depends on them and not on the day's
 * attempts. */
static void keep_waiting(struct apply *a, const char *table)
{
    struct sql *q = &a->sql;
    sqlite3_stmt *add = schema_prepare_attempts(q, "attempts_next", "VALUES(?,?)");
    sqlite3_stmt *s =
        sql_prepare_f(q,
                      "SELECT e.id,e.event_id,e.occurred_ms,t.attempts FROM"
                      " (SELECT id FROM due UNION ALL SELECT id FROM event WHERE queue=%d) AS w"
                      " CROSS JOIN event AS e ON e.id=w.id AND e.state=%d AND e.attempts>0"
                      " CROSS JOIN \"%s\" AS t ON t.block=e.id>>%d",
                      WAIT_HELD, CALLBACK_PENDING, table, ATTEMPT_BLOCK_BITS);
    while (sql_row(q, s))
        keep_event(a, add, s);
    sql_finalize(s);
    sql_finalize(add);
}

static void drop_attempts(struct apply *a, const struct old_day *old, int64_t today)
{
    struct sql *q = &a->sql;
    bool has_kept =
        sql_get_int(q, "SELECT 1 FROM sqlite_schema WHERE name='attempts_kept'", 0) != 0;
    bool any = has_kept || apply_waiting_oldest_ms(a, INT64_MAX) < (old->day + 1) * DAY_MS;
    sql_exec(q, "BEGIN IMMEDIATE");
    if (has_kept)
        move_final(a, today);
    if (any) {
        schema_create_attempts(q, "attempts_kept");
        schema_create_attempts(q, "attempts_next");
        keep_waiting(a, "attempts_kept");
        keep_waiting(a, old->table);
    }
    drop_day(a, old);
    sql_exec(q, "DROP TABLE IF EXISTS attempts_kept");
    if (any && sql_get_int(q, "SELECT 1 FROM attempts_next LIMIT 1", 0) == 0)
        sql_exec(q, "DROP TABLE attempts_next");
    else if (any)
        sql_exec(q, "ALTER TABLE attempts_next RENAME TO attempts_kept");
    sql_exec(q, "COMMIT");
}

/* --- bodies ----------------------------------------------------------------------------------- */

/* The first segment whose bodies are not needed by callbacks that became final before that time;
 * 0: none. The open segment never is. */
static int64_t find_old_bodies(struct apply *a, int64_t before_ms)
{
    sqlite3_stmt *s =
        sql_prepare_f(&a->sql,
                      "SELECT no FROM segment WHERE has_bodies<>0 AND filter IS NOT NULL AND"
                      " last_accepted_ms<? AND NOT EXISTS (SELECT 1 FROM waiting"
                      " WHERE waiting.segment=no) AND NOT EXISTS (SELECT 1 FROM event"
                      " WHERE event.segment=no AND queue=%d AND state<>%d)"
                      " AND NOT EXISTS (SELECT 1 FROM final_late WHERE final_late.segment=no"
                      " AND final_day>=?) LIMIT 1",
                      WAIT_DUE, CALLBACK_PENDING);
    sql_bind_int(s, 1, before_ms - RETENTION_SCHEDULE_DAYS * DAY_MS);
    sql_bind_int(s, 2, clock_day(before_ms));
    int64_t no = sql_row(&a->sql, s) ? sql_int(s, 0) : 0;
    sql_finalize(s);
    return no;
}

static void drop_bodies(struct apply *a, int64_t segment)
{
    struct sql *q = &a->sql;
    sql_exec(q, "BEGIN IMMEDIATE");
    sql_exec_f(q, "UPDATE segment SET has_bodies=0 WHERE no=%" PRId64, segment);
    sql_exec_f(q, "DELETE FROM final_late WHERE segment=%" PRId64, segment);
    sql_exec_f(q, "DROP TABLE IF EXISTS bodies_%" PRId64, segment);
    sql_exec(q, "COMMIT");
}

/* A clock that was far ahead has dropped days that it returns to: those are incomplete then. */
static void drop_intraday(struct sql *q, int64_t before_day)
{
    if (sql_get_int(q, "SELECT min(day) FROM intraday", before_day) >= before_day)
        return;
    sql_exec(q, "BEGIN IMMEDIATE");
    sql_exec_f(q, "DELETE FROM intraday WHERE day<%" PRId64, before_day);
    if (meta_get_int(q, META_INTRADAY_FROM_DAY, INT32_MIN) < before_day)
        meta_set_int(q, META_INTRADAY_FROM_DAY, before_day);
    sql_exec(q, "COMMIT");
}

/* False: resends that are not applied yet may need some bodies. */
static bool purge_bodies(struct apply *a, struct view *v, int64_t before_ms)
{
    int64_t no = find_old_bodies(a, before_ms);
    if (no > 0 && !view_may_drop_bodies(v))
        return false;
    for (; no > 0 && !sql_failed(&a->sql); no = find_old_bodies(a, before_ms))
        drop_bodies(a, no);
    view_bodies_gone(v);
    return true;
}

static bool purge_until(struct apply *a, struct view *v, const struct store_retention *keep,
                        int64_t now_ms, int64_t wall_ms)
{
    struct sql *q = &a->sql;
    int64_t today = clock_day(now_ms);
    struct old_day old;
    while (old = find_day(a, "attempts", today - keep->attempts_days, NULL), old.table[0])
        drop_attempts(a, &old, clock_day(wall_ms));
    /* a set can be rebuilt from the events, but not for every memtable of a long import */
    while (old = find_day(a, "active", today - keep->panelists_days, &a->active.touched),
           old.table[0])
        drop_day(a, &old);
    idmap_free(&a->active.touched);
    drop_intraday(q, today - INTRADAY_DAYS);
    apply_delivery_stats_merge(a, now_ms);
    return purge_bodies(a, v, now_ms - keep->bodies_days * DAY_MS);
}

/* Moves the retention clock; returns the time to purge by. */
static int64_t move_clock(struct apply *a, struct retention_clock *clock, int64_t wall_ms,
                          int64_t mono_ms)
{
    struct sql *q = &a->sql;
    int64_t newest_ms = a->counters.latest_accepted_ms > 0 ? a->counters.latest_accepted_ms : 0;
    clock->at_ms = meta_get_int(q, META_RETENTION_CLOCK, 0);
    int64_t before_ms = clock->at_ms;
    retention_log(retention_step(clock, wall_ms, newest_ms, mono_ms), clock, newest_ms);
    if (clock->at_ms != before_ms)
        meta_set_int(q, META_RETENTION_CLOCK, clock->at_ms);
    return retention_now_ms(clock, wall_ms);
}

bool purge_run(struct apply *a, struct view *v, const struct store_retention *keep,
               struct retention_clock *clock, int64_t wall_ms, int64_t mono_ms)
{
    struct sql *q = &a->sql;
    if (sql_failed(q))
        return true;
    int64_t now_ms = move_clock(a, clock, wall_ms, mono_ms);
    bool is_done = purge_until(a, v, keep, now_ms, wall_ms);
    if (sql_failed(q) && apply_passing(a)) {
        log_warning("purge_failed", LOG_C("why", q->why));
        apply_recover(a);
    }
    return is_done;
}
