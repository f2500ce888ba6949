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
#include "store/postgresql/handover.h"

#include "base/alloc.h"
#include "base/log.h"

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

static enum pg_fate try_write_once(struct postgresql_store *s, struct pg_side *side, pg_work work,
                                   void *what, bool *ret_reached)
{
    side->changes.added = (struct pg_counts){0};
    side->handed_over = 0;
    side->since_mono_ms = env_mono_ms(env_real());
    pg_numbers_begin(&s->numbers, side->weight);
    enum pg_fate fate = try_once(s, &side->pg, work, what, ret_reached);
    pg_numbers_end(&s->numbers, side->weight, fate == PG_OK ? &side->changes.added : NULL);
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
static bool has_waited(const struct pg_side *side)
{
    return timing_now_us() - side->asked_us > PG_PATIENCE_MS * INT64_C(1000);
}

/* The disk is full, or the database is down and the request has waited long enough. A part of a
 * refused group is tried once in any case. */
static bool is_hopeless(struct postgresql_store *s, const struct pg_side *side, int failures)
{
    return pg_room_is_none(&s->numbers.room) ||
           (atomic_load(&s->numbers.away) && has_waited(side) && (failures > 0 || !side->is_part));
}

/* The database can be reached but refuses the group. */
static bool is_refused(const struct pg_side *side, struct tries *t, enum pg_fate fate)
{
    t->refusals += fate == PG_REFUSED || (fate == PG_NOT_NOW && has_waited(side));
    t->losses = fate == PG_LOST && t->reached ? t->losses + 1 : 0;
    return t->refusals >= REFUSALS_ENOUGH || (t->losses >= LOSSES_ENOUGH && has_waited(side));
}

static void drop_try(struct pg_side *side)
{
    pg_side_drop_owed(side);
    arena_free(&side->scratch);
}

/* Judges a failed try. True: it was the last one; false: try again. */
static bool end_try(struct postgresql_store *s, struct pg_side *side, struct tries *t,
                    enum pg_fate fate, bool may_refuse)
{
    drop_try(side);
    if (fate == PG_ABSENT)
        return true;
    if (fate == PG_REFUSED && sqlstate_lacks_partition(side->pg.sqlstate))
        pg_partitions_free(&side->partitions); /* one was dropped since: the next try makes it */
    side->unknown |= side->pg.group_committing && (fate == PG_LOST || side->pg.commit_refused);
    bool refused = is_refused(side, t, fate), doubt = side->unknown && may_refuse;
    side->only_looks = refused && doubt;
    if (fate == PG_NOT_NOW && sqlstate_is_disk_full(side->pg.sqlstate))
        pg_room_doubt(&s->numbers.room);
    /* one broken connection is not reported */
    else if (!t->reached || (t->failures > 0 && fate != PG_REFUSED))
        pg_store_note_away(s, &side->pg, true);
    return refused && !doubt;
}

enum store_status pg_try_write(struct postgresql_store *s, struct pg_side *side, pg_work work,
                               void *what, bool may_refuse)
{
    struct tries t = {0};
    side->unknown = side->only_looks = false;
    side->own_no = 0;
    for (;; t.failures++) {
        bool over = t.failures > 0 && is_over(s);
        if (atomic_load(&s->store.failed))
            return STORE_FAILED;
        if (may_refuse && !side->unknown && (over || is_hopeless(s, side, t.failures)))
            return STORE_BUSY;
        if (over) {
            store_fail(&s->store,
                       "the database does not answer or has no room, and the daemon is to"
                       " stop: what it could not record is done again after the next start");
            return STORE_FAILED;
        }
        if (t.failures > 0)
            nap(s);
        if (!side->unknown && pg_room_is_none(&s->numbers.room))
            continue;
        if (side->unknown && side == &s->changes)
            pg_changes_refuse_old(s);
        enum pg_fate fate = try_write_once(s, side, work, what, &t.reached);
        if (fate == PG_OK) {
            atomic_fetch_add(&s->nodes.handed_over, side->handed_over);
            pg_store_note_away(s, &side->pg, false);
            return STORE_OK;
        }
        if (end_try(s, side, &t, fate, may_refuse))
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

void pg_side_owe(struct pg_side *side, struct callback *c)
{
    c->stamp =
        (struct handoff_stamp){side->unknown ? HANDOFF_FENCE_UNKNOWN : 0, side->since_mono_ms};
    side->owed =
        xgrow(side->owed, &side->owed_capacity, side->owed_count + 1, sizeof(struct callback *));
    side->owed[side->owed_count++] = c;
}

void pg_side_drop_owed(struct pg_side *side)
{
    for (size_t i = 0; i < side->owed_count; i++)
        callback_free(side->owed[i]);
    side->owed_count = 0;
}

void pg_side_hand_over(struct postgresql_store *s, struct pg_side *side)
{
    handover_behind(s, side);
    if (side->owed_count > 0)
        s->sink->owed(s->sink, side->owed, side->owed_count);
    side->owed_count = 0;
}
