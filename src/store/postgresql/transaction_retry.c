/* Repeats a transaction until it is done, and decides what happens if the database goes away or
 * refuses it.
 *
 * A group that was rolled back (a deadlock, a lock, a broken connection) is repeated from the
 * start: nothing is kept in between, and everything is read again. If the connection broke during
 * COMMIT, the commit is in doubt. Such a group is no longer refused, because a refusal says that
 * nothing is stored. It is repeated for as long as it takes, and finds by its own keys what it has
 * written. It looks only once it has the locks that the transaction in doubt holds until its end,
 * and commits a lock of its own even if there is nothing to write, so that it also waits for a
 * standby that the transaction in doubt may not have waited for.
 *
 * A database that answers and refuses the same group again (an extension's error, a trigger, a full
 * disk) does not end the store: the result is STORE_REFUSED, and the caller finds out which part is
 * refused. In doubt this result needs proof that nothing is stored: then the group is only looked
 * for, not repeated (PG_ABSENT).
 *
 * While the database's disk has no room (disk_room.h) nothing new is tried: what may be refused is
 * refused, and the rest waits. Each try would take room that the server needs for its WAL. */
#include "store/postgresql/transaction_retry.h"

#include "base/alloc.h"
#include "base/log.h"
#include "store/postgresql/changes_thread.h"
#include "store/postgresql/handover.h"
#include "store/postgresql/pg_connect.h"

#include <stdlib.h>

void pg_store_note_away(struct postgresql_store *s, const struct pg *pg, bool away)
{
    if (atomic_exchange(&s->numbers.away, away) == away)
        return;
    if (away)
        log_warning("database_away", LOG_STR("why", buf_str(&pg->why)));
    else
        log_info("database_back");
}

/* --- one transaction that writes -------------------------------------------------------------- */

enum pg_fate pg_sync_commit(struct postgresql_store *s, struct pg *pg)
{
    int64_t begin_us = timing_now_us();
    pg_commit(pg);
    pg->group_committing = true;
    enum pg_fate fate = pg_sync(pg);
    if (fate == PG_OK) {
        atomic_fetch_add(&s->numbers.commits, 1);
        timing_add_since(&s->numbers.timings[STORE_TIME_COMMIT], begin_us);
    }
    return fate;
}

/* --- repeating -------------------------------------------------------------------------------- */

#define REFUSALS_ENOUGH 2 /* the first may be caused by a moment or a connection */
#define LOSSES_ENOUGH 3   /* while each new connection succeeds */

/* The tries of one group so far. */
struct tries {
    int failures, refusals, losses;
    bool reached; /* the last try reached a server */
};

static enum pg_fate try_once(struct postgresql_store *s, struct pg *pg, pg_work work, void *what,
                             bool *ret_reached)
{
    pg->group_committing = false;
    *ret_reached = pg_connect(pg);
    return *ret_reached ? work(s, pg, what) : PG_LOST;
}

static enum pg_fate try_write_once(struct postgresql_store *s, struct pg_writer *writer,
                                   pg_work work, void *what, bool *ret_reached)
{
    writer->changes.added = (struct pg_counts){0};
    writer->handed_over = 0;
    writer->since_mono_ms = env_mono_ms(env_real());
    pg_numbers_begin(&s->numbers, writer->weight);
    enum pg_fate fate = try_once(s, &writer->pg, work, what, ret_reached);
    pg_numbers_end(&s->numbers, writer->weight, fate == PG_OK ? &writer->changes.added : NULL);
    return fate;
}

static bool is_over(struct postgresql_store *s)
{
    long long at_ms = atomic_load(&s->give_up_mono_ms);
    return at_ms != 0 && env_mono_ms(env_real()) >= at_ms;
}

bool pg_store_connect(struct postgresql_store *s, struct pg *pg)
{
    return !(atomic_load(&s->numbers.away) && is_over(s)) && pg_connect(pg);
}

static void nap(struct postgresql_store *s)
{
    (void)queue_has_any(&s->nap, PG_RETRY_MS);
}

/* Counted from the request, so that requests behind a group in doubt do not wait again. */
static bool has_waited(const struct pg_writer *writer)
{
    return timing_now_us() - writer->asked_us > PG_PATIENCE_MS * INT64_C(1000);
}

/* The disk is full, or the database is down and the request has waited long enough. A part of a
 * refused group is tried once in any case. */
static bool is_hopeless(struct postgresql_store *s, const struct pg_writer *writer, int failures)
{
    return pg_room_is_none(&s->numbers.room) ||
           (atomic_load(&s->numbers.away) && has_waited(writer) &&
            (failures > 0 || !writer->is_part));
}

/* The database can be reached but refuses the group. */
static bool is_refused(const struct pg_writer *writer, struct tries *t, enum pg_fate fate)
{
    t->refusals += fate == PG_REFUSED || (fate == PG_NOT_NOW && has_waited(writer));
    t->losses = fate == PG_LOST && t->reached ? t->losses + 1 : 0;
    return t->refusals >= REFUSALS_ENOUGH || (t->losses >= LOSSES_ENOUGH && has_waited(writer));
}

static void drop_try(struct pg_writer *writer)
{
    pg_writer_drop_owed(writer);
    arena_free(&writer->scratch);
}

/* Judges a failed try. True: it was the last one; false: try again. */
static bool end_try(struct postgresql_store *s, struct pg_writer *writer, struct tries *t,
                    enum pg_fate fate, bool may_refuse)
{
    drop_try(writer);
    if (fate == PG_ABSENT)
        return true;
    if (fate == PG_REFUSED && sqlstate_lacks_partition(writer->pg.sqlstate))
        pg_partitions_free(&writer->partitions); /* one was dropped since: the next try makes it */
    writer->unknown |=
        writer->pg.group_committing && (fate == PG_LOST || writer->pg.commit_refused);
    bool refused = is_refused(writer, t, fate), doubt = writer->unknown && may_refuse;
    writer->only_looks = refused && doubt;
    if (fate == PG_NOT_NOW && sqlstate_is_disk_full(writer->pg.sqlstate))
        pg_room_doubt(&s->numbers.room);
    /* one broken connection is not reported */
    else if (!t->reached || (t->failures > 0 && fate != PG_REFUSED))
        pg_store_note_away(s, &writer->pg, true);
    return refused && !doubt;
}

enum store_status pg_try_write(struct postgresql_store *s, struct pg_writer *writer, pg_work work,
                               void *what, bool may_refuse)
{
    struct tries t = {0};
    writer->unknown = writer->only_looks = false;
    writer->own_no = 0;
    for (;; t.failures++) {
        bool over = t.failures > 0 && is_over(s);
        if (atomic_load(&s->store.failed))
            return STORE_FAILED;
        if (may_refuse && !writer->unknown && (over || is_hopeless(s, writer, t.failures)))
            return STORE_BUSY;
        if (over) {
            store_fail(&s->store,
                       "the database does not answer or has no room, and the daemon is to"
                       " stop: what it could not record is done again after the next start");
            return STORE_FAILED;
        }
        if (t.failures > 0)
            nap(s);
        if (!writer->unknown && pg_room_is_none(&s->numbers.room))
            continue;
        if (writer->unknown && writer == &s->change_writer)
            pg_changes_refuse_old(s);
        enum pg_fate fate = try_write_once(s, writer, work, what, &t.reached);
        if (fate == PG_OK) {
            atomic_fetch_add(&s->nodes.handed_over, writer->handed_over);
            pg_store_note_away(s, &writer->pg, false);
            return STORE_OK;
        }
        if (end_try(s, writer, &t, fate, may_refuse))
            return STORE_REFUSED;
    }
}

enum store_status pg_try_read(struct postgresql_store *s, struct pg *pg, pg_work work, void *what)
{
    int64_t begin_ms = env_mono_ms(env_real());
    for (int refusals = 0;;) {
        bool reached;
        if (atomic_load(&s->store.failed))
            return STORE_FAILED;
        enum pg_fate fate = try_once(s, pg, work, what, &reached);
        if (fate == PG_OK)
            return STORE_OK;
        bool again = fate == PG_LOST || (fate == PG_REFUSED && ++refusals < REFUSALS_ENOUGH);
        bool long_enough = env_mono_ms(env_real()) - begin_ms > PG_PATIENCE_MS;
        if (!again || long_enough || is_over(s)) {
            log_warning("read_failed", LOG_STR("why", buf_str(&pg->why)));
            return fate == PG_REFUSED ? STORE_REFUSED : STORE_BUSY;
        }
        nap(s);
    }
}

/* --- callbacks for the sink ------------------------------------------------------------------- */

void pg_writer_owe(struct pg_writer *writer, struct callback *c)
{
    c->stamp =
        (struct handoff_stamp){writer->unknown ? HANDOFF_FENCE_UNKNOWN : 0, writer->since_mono_ms};
    writer->owed = xgrow(writer->owed, &writer->owed_capacity, writer->owed_count + 1,
                         sizeof(struct callback *));
    writer->owed[writer->owed_count++] = c;
}

void pg_writer_drop_owed(struct pg_writer *writer)
{
    for (size_t i = 0; i < writer->owed_count; i++)
        callback_free(writer->owed[i]);
    writer->owed_count = 0;
}

void pg_writer_hand_over(struct postgresql_store *s, struct pg_writer *writer)
{
    handover_behind(s, writer);
    if (writer->owed_count > 0)
        s->sink->owed(s->sink, writer->owed, writer->owed_count);
    writer->owed_count = 0;
}
