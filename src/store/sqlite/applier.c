/* The applier: writes frozen memtables to SQLite, checkpoints its WAL off the commit path, and
 * purges old data. On a full disk it waits: the memtable stays, the active one fills, and intake is
 * refused as busy until there is room again. */
#include "store/sqlite/applier.h"

#include "base/log.h"
#include "store/sqlite/bundle.h"
#include "store/sqlite/checkpoint.h"
#include "store/sqlite/purge.h"
#include "store/sqlite/reads.h"

#include <stdlib.h>

/* How long to wait for another process's lock before reporting it, and the pause between tries. */
#define LOCKED_MS 1000
#define RETRY_MS 1000
#define PURGE_INTERVAL_MS (60 * 60 * 1000)
#define PURGE_AGAIN_MS 100          /* while resends must be applied first */
#define BUNDLE_AGAIN_MS (60 * 1000) /* after a step that found no room */

void applier_publish_numbers(struct sqlite_store *s)
{
    struct numbers *n = &s->numbers;
    const struct apply_counters *c = &s->apply.counters;
    store_note_cache(s, &s->apply.sql, CACHE_APPLIER);
    atomic_store(&n->delivered, c->delivered);
    atomic_store(&n->dead, c->dead);
    atomic_store(&n->pending, c->pending);
    atomic_store(&n->oldest_pending_ms, apply_waiting_oldest_ms(&s->apply, 0));
}

/* After a complete checkpoint SQLite has everything up to the applied position, safe from power
 * cuts, so the journal up to there can be released. */
bool applier_checkpoint(struct sqlite_store *s, bool all)
{
    struct sql *q = &s->apply.sql;
    struct journal_position position = meta_get_position(q);
    int64_t begin_us = timing_now_us();
    enum checkpoint_result result = checkpoint_run(q, all);
    timing_add_since(&s->numbers.timings[STORE_TIME_CHECKPOINT], begin_us);
    if (result == CHECKPOINT_COMPLETE)
        journal_release(s->journal, position);
    else if (result == CHECKPOINT_FAILED)
        log_error("checkpoint_failed", LOG_C("why", q->why));
    return result == CHECKPOINT_COMPLETE;
}

static int count_wal_pages(void *pages, sqlite3 *db, const char *name, int count)
{
    (void)db;
    (void)name;
    *(int *)pages = count;
    return SQLITE_OK;
}

static void apply_one(struct sqlite_store *s, struct memtable *m)
{
    bool good;
    int64_t begin_us = timing_now_us();
    s->apply.now_ms = env_wall_ms(s->env);
    while (!(good = apply_memtable(&s->apply, m)) && apply_passing(&s->apply) &&
           !atomic_load(&s->closing)) {
        if (!atomic_exchange(&s->numbers.blocked, true))
            log_error(
                "apply_blocked", LOG_C("why", s->apply.sql.why),
                LOG_C("effect", "events are refused, and callbacks wait, when memory is full"),
                LOG_C("fix", "end what else has the database open, or give its disk room"));
        apply_recover(&s->apply);
        struct request *none = queue_take(&s->nap, RETRY_MS);
        ASSERT(!none);
    }
    if (good) {
        view_applied(&s->view, m);
        if (atomic_exchange(&s->numbers.blocked, false))
            log_info("apply_goes_on", LOG_INT("events", (int64_t)m->event_count));
        log_debug("applied", LOG_INT("events", (int64_t)m->event_count),
                  LOG_INT("took_ms", (timing_now_us() - begin_us) / 1000));
        timing_add_since(&s->numbers.timings[STORE_TIME_APPLY], begin_us);
        applier_publish_numbers(s);
    }
    struct request *r = request_new(REQUEST_APPLIED, m);
    r->succeeded = good;
    queue_post(&s->to_writer, r);
}

/* A failure that does not pass ends the store: after a failed sync the contents of the disk are
 * unknown, and further calls must not build on them. */
static void tell_failure(struct sqlite_store *s)
{
    if (sql_failed(&s->apply.sql))
        queue_post(&s->to_writer, request_new(REQUEST_APPLIER_FAILED, NULL));
}

static void purge_when_due(struct sqlite_store *s, int64_t *next_mono_ms)
{
    int64_t now_ms = env_mono_ms(s->env);
    if (now_ms < *next_mono_ms)
        return;
    struct store_retention keep = retention_of(&s->retention);
    bool is_done =
        purge_run(&s->apply, &s->view, &keep, &s->retention_clock, env_wall_ms(s->env), now_ms);
    atomic_store(&s->numbers.retention_clock_ms, s->retention_clock.at_ms);
    *next_mono_ms = now_ms + (is_done ? PURGE_INTERVAL_MS : PURGE_AGAIN_MS);
}

/* How the making of bundles gets on. */
struct bundling {
    bool idle;             /* no step is due before the next memtable */
    bool given_up;         /* a segment is damaged: none in this process */
    bool told;             /* that there is no room */
    int64_t again_mono_ms; /* not before */
    int64_t rested_mono_ms;
};

/* After a step the applier rests for so many times as long as the step took, unless merging is
 * urgent: what comes in at the full rate, and the disk, then feel little of a bundle. */
#define BUNDLE_REST 4

/* When the next step may be done; INT64_MAX: there is none. */
static int64_t bundle_mono_ms(const struct sqlite_store *s, const struct bundling *b,
                              bool is_urgent)
{
    if (b->idle || b->given_up || sql_failed(&s->apply.sql))
        return INT64_MAX;
    return is_urgent || b->again_mono_ms > b->rested_mono_ms ? b->again_mono_ms : b->rested_mono_ms;
}

static bool may_bundle(struct sqlite_store *s, const struct bundling *b, bool is_urgent)
{
    return env_mono_ms(s->env) >= bundle_mono_ms(s, b, is_urgent);
}

/* A bundle is not worth the room that outcomes may need. */
static bool has_room(struct sqlite_store *s, struct bundling *b)
{
    int64_t bytes = bundle_bytes_left(&s->apply.sql, s->apply.segment.no);
    if (bytes == 0 || admission_has_room(s, bytes))
        return true;
    if (!b->told)
        log_warning("bundle_waits", LOG_INT("needs_bytes", bytes),
                    LOG_C("effect", "look-ups of keys and panelists get slower as events come"),
                    LOG_C("fix", "give the store's file system more room"));
    b->told = true;
    b->again_mono_ms = env_mono_ms(s->env) + BUNDLE_AGAIN_MS;
    return false;
}

/* Whether a failure comes from what was read. Only a look-up of it, or a bundle, needs it. */
static bool is_damage(const struct sql *q)
{
    return (q->code & 0xff) == SQLITE_CORRUPT || q->code == SQLITE_IOERR_DATA ||
           q->code == SQLITE_IOERR_READ;
}

static void bundle_some(struct sqlite_store *s, struct bundling *b)
{
    struct apply *a = &s->apply;
    if (!has_room(s, b))
        return;
    int64_t began_ms = env_mono_ms(s->env);
    b->idle = !bundle_step(&a->sql, a->segment.no, (uint32_t)atomic_load(&s->numbers.bundle_known));
    int64_t ended_ms = env_mono_ms(s->env);
    b->rested_mono_ms = ended_ms + BUNDLE_REST * (ended_ms - began_ms);
    if (!sql_failed(&a->sql))
        return;
    if (is_damage(&a->sql)) {
        log_error("bundle_damaged", LOG_C("why", a->sql.why),
                  LOG_C("effect", "keys are looked up segment by segment until a restart"),
                  LOG_C("fix", "restore the database, or ask the scrub which page it is"));
        b->given_up = true;
    } else if (apply_passing(a)) {
        log_warning("bundle_failed", LOG_C("why", a->sql.why),
                    LOG_C("effect", "none: it is tried again in a minute"));
        b->idle = false;
        b->again_mono_ms = env_mono_ms(s->env) + BUNDLE_AGAIN_MS;
    } else {
        return; /* the store ends: tell_failure */
    }
    apply_recover(a);
}

/* How long the applier may wait for requests. Bundles are made while there are none. */
static int64_t idle_ms(struct sqlite_store *s, int64_t next_purge_mono_ms,
                       const struct bundling *bundling)
{
    int64_t now_ms = env_mono_ms(s->env), purge_ms = next_purge_mono_ms - now_ms;
    int64_t most_ms = purge_ms > PURGE_AGAIN_MS ? purge_ms : PURGE_AGAIN_MS;
    int64_t step_mono_ms = bundle_mono_ms(s, bundling, false);
    if (step_mono_ms <= now_ms)
        return 0;
    return step_mono_ms - now_ms < most_ms ? step_mono_ms - now_ms : most_ms;
}

/* Takes the request. */
static void handle(struct sqlite_store *s, struct request *r, struct bundling *bundling)
{
    if (r->kind == REQUEST_CHECKPOINT) {
        bool is_complete = !sql_failed(&s->apply.sql) && applier_checkpoint(s, false);
        scrub_checkpoint_done(s->scrub, r, is_complete);
        return;
    }
    if (r->kind != REQUEST_PURGE) {
        apply_one(s, r->what);
        bundling->idle = false;
        unsigned urgent = bundle_urgent_steps(&s->apply.sql, s->apply.segment.no);
        for (; urgent > 0 && may_bundle(s, bundling, true); urgent--)
            bundle_some(s, bundling);
    }
    free(r);
}

void *applier_main(void *arg)
{
    struct sqlite_store *s = arg;
    CHECK_MAGIC(s, SQLITE_STORE_MAGIC);
    /* an applier that is behind makes intake wait */
    store_thread_begin("store-applier", APPLIER_NICER);
    int wal_pages = 0;
    int64_t next_purge_mono_ms = 0;
    struct bundling bundling = {0};
    sqlite3_wal_hook(s->apply.sql.db, count_wal_pages, &wal_pages);
    sqlite3_busy_timeout(s->apply.sql.db, LOCKED_MS);
    for (;;) {
        purge_when_due(s, &next_purge_mono_ms);
        struct request *r = queue_take(&s->to_applier, idle_ms(s, next_purge_mono_ms, &bundling));
        if (r && r->kind == REQUEST_STOP) {
            free(r);
            break;
        }
        if (r && r->kind == REQUEST_PURGE)
            next_purge_mono_ms = 0;
        if (r)
            handle(s, r, &bundling);
        else if (may_bundle(s, &bundling, false))
            bundle_some(s, &bundling);
        if (!sql_failed(&s->apply.sql) && wal_pages >= s->checkpoint_pages)
            (void)applier_checkpoint(s, false);
        tell_failure(s);
    }
    sqlite3_wal_hook(s->apply.sql.db, NULL, NULL);
    return NULL;
}
