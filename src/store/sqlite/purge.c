/* What is too old goes whole: a day of attempts, a day's set of active panelists, a segment's
 * bodies. Nothing is deleted row by row. What is not final is never purged. A purge that finds no
 * room on the disk is tried again in an hour; another failure stays the connection's. */
#include "store/sqlite/sqlite_store.h"

#include "base/log.h"
#include "domain/clock.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/sqlite/schema.h"

/* The last try of a callback is at most about 73 h after its acceptance. */
#define SCHEDULE_DAYS 4

/* Drops the first table NAME_<day> older than before_day, but for those of `kept`; true: dropped
 * one, ask again. */
static bool drop_day(struct apply *a, const char *name, int64_t before_day,
                     const struct idmap *kept)
{
    struct sql *q = &a->sql;
    sqlite3_stmt *s =
        sql_prepare_f(q,
                      "SELECT name,CAST(substr(name, %zu) AS INT) AS day FROM sqlite_schema"
                      " WHERE type='table' AND name GLOB '%s_*' AND day < %" PRId64,
                      strlen(name) + 2, name, before_day);
    char table[64] = "";
    while (!table[0] && sql_row(q, s))
        if (!kept || !idmap_find(kept, apply_day_key(sql_int(s, 1))))
            snprintf(table, sizeof table, "%.*s", STR_ARG(sql_str(s, 0)));
    sql_finalize(s);
    if (!table[0])
        return false;
    apply_drop_cached(a);
    sql_exec_f(q, "DROP TABLE \"%s\"", table);
    if (!sql_failed(q))
        log_debug("purged", LOG_C("table", table));
    return !sql_failed(q);
}

/* The first segment whose bodies nobody needs; 0: none. The open one is never. */
static int64_t find_old_bodies(struct apply *a, int64_t before_ms)
{
    sqlite3_stmt *s =
        sql_prepare(&a->sql, "SELECT no FROM segment WHERE has_bodies<>0 AND filter IS NOT NULL AND"
                             " last_accepted_ms<? AND NOT EXISTS (SELECT 1 FROM waiting"
                             " WHERE waiting.segment=no) AND NOT EXISTS (SELECT 1 FROM event"
                             " WHERE event.segment=no AND queue=1 AND state<>1) LIMIT 1");
    sql_bind_int(s, 1, before_ms);
    int64_t no = sql_row(&a->sql, s) ? sql_int(s, 0) : 0;
    sql_finalize(s);
    return no;
}

static void drop_bodies(struct apply *a, int64_t segment)
{
    struct sql *q = &a->sql;
    sql_exec(q, "BEGIN IMMEDIATE");
    sql_exec_f(q, "UPDATE segment SET has_bodies=0 WHERE no=%" PRId64, segment);
    sql_exec_f(q, "DROP TABLE IF EXISTS bodies_%" PRId64, segment);
    sql_exec(q, "COMMIT");
}

/* A clock that was far ahead has dropped days that it comes back to: they are not whole then. */
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

/* False: resends may owe some of them and are to be applied first. */
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
                        int64_t now_ms)
{
    struct sql *q = &a->sql;
    int64_t today = clock_day(now_ms);
    while (drop_day(a, "attempts", today - keep->attempts_days, NULL))
        ;
    /* A set can be made again from the events, but not for every memtable of a long import. */
    while (drop_day(a, "active", today - keep->panelists_days, &a->active.touched))
        ;
    idmap_free(&a->active.touched);
    drop_intraday(q, today - INTRADAY_DAYS);
    return purge_bodies(a, v, now_ms - (keep->bodies_days + SCHEDULE_DAYS) * DAY_MS);
}

/* Moves the retention clock; the time to purge by. */
static int64_t move_clock(struct apply *a, struct retention_clock *clock, int64_t wall_ms,
                          int64_t mono_ms)
{
    struct sql *q = &a->sql;
    int64_t newest_ms = a->counters.latest_accepted_ms > 0 ? a->counters.latest_accepted_ms : 0;
    clock->at_ms = meta_get_int(q, META_RETENTION_CLOCK, 0);
    int64_t before_ms = clock->at_ms;
    retention_tell(retention_step(clock, wall_ms, newest_ms, mono_ms), clock, newest_ms);
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
    bool is_done = purge_until(a, v, keep, move_clock(a, clock, wall_ms, mono_ms));
    if (sql_failed(q) && apply_passing(a)) {
        log_warning("purge_failed", LOG_C("why", q->why));
        apply_recover(a);
    }
    return is_done;
}
