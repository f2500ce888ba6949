/* Records outcomes of attempts: one transaction for a group of batches.
 *
 *   first trip  read the fences of their shards, under a lock that a claim waits for: outcomes of
 *               lanes that were made under another fence are refused and not stored
 *   trips       find the callbacks' rows, and lock them or take their rows of `waiting`; then the
 *               reversals that wait for them
 *   last trip   write everything, COMMIT
 *
 * The outcomes are decided one after the other. A repeated group changes nothing more: a state
 * replaces a state, attempts have keys, totals count a callback once. That is how a group whose
 * commit is in doubt is resolved. */
#include "store/postgresql/outcomes.h"

#include "base/log.h"
#include "domain/retention.h"
#include "store/postgresql/delivery_stats_sql.h"
#include "store/postgresql/fetch_rows.h"
#include "store/postgresql/transaction_retry.h"

#include <stdlib.h>

/* A row of the group, and its state after the outcomes. */
struct touched {
    const struct pg_row *row;
    struct row_callback now;
    bool changed, owed;
};

struct outcomes_recording {
    struct postgresql_store *s;
    struct pg *pg;
    struct pg_writer *writer;
    struct arena *arena;
    struct outcome **items; /* those that are not refused */
    size_t count, refused;
    int64_t now_ms;
    struct fetched rows;      /* of the outcomes' callbacks */
    struct fetched reversals; /* of reversals that wait for `rows` */
    struct fetched originals; /* originals of the reversals among `rows` */
    struct touched *touched, *released;
    bool is_repeated; /* an attempt may have been recorded before */
};

static struct touched *touched_of(struct outcomes_recording *rec, const struct outcome *o)
{
    const struct pg_row *row = fetched_find(&rec->rows, o->account_no, o->event_no);
    return row ? &rec->touched[row - rec->rows.rows] : NULL;
}

/* --- deciding --------------------------------------------------------------------------------- */

static void take_touched(struct outcomes_recording *rec)
{
    rec->touched = arena_zalloc(rec->arena, rec->rows.count * sizeof *rec->touched + 1);
    for (size_t i = 0; i < rec->rows.count; i++)
        rec->touched[i] =
            (struct touched){.row = &rec->rows.rows[i], .now = rec->rows.rows[i].callback};
    rec->released = arena_zalloc(rec->arena, rec->reversals.count * sizeof *rec->released + 1);
    for (size_t i = 0; i < rec->reversals.count; i++)
        rec->released[i] = (struct touched){.row = &rec->reversals.rows[i],
                                            .now = rec->reversals.rows[i].callback};
}

/* Releases the reversal that waits for this original, if the outcome allows it. */
static void release_reversal(struct outcomes_recording *rec, const struct touched *original,
                             const struct outcome *o)
{
    for (size_t i = 0; i < rec->reversals.count; i++) {
        struct touched *t = &rec->released[i];
        if (t->row->event.account_no == o->account_no && t->row->event.original_no == o->event_no &&
            life_release(&t->now.life, &original->now.life, outcome_end_ms(o)))
            t->changed = t->owed = true;
    }
}

/* The callback state of a reversal's original, after the group if the group changes it; NULL: the
 * event is no reversal. */
static const struct callback_life *find_original(const struct outcomes_recording *rec,
                                                 const struct event *e)
{
    const struct pg_row *row = fetched_find(&rec->rows, e->account_no, e->original_no);
    if (row)
        return &rec->touched[row - rec->rows.rows].now.life;
    row = fetched_find(&rec->originals, e->account_no, e->original_no);
    return row ? &row->callback.life : NULL;
}

/* A resend that was accepted after the outcome was decided takes effect after the outcome. */
static void resend_again(const struct outcomes_recording *rec, struct touched *t)
{
    struct callback_life *life = &t->now.life;
    life_resend(life, t->now.resend.due_ms, find_original(rec, &t->row->event));
    t->owed = life->wait == WAIT_DUE;
}

static void take_outcome(struct outcomes_recording *rec, const struct outcome *o)
{
    struct touched *t = touched_of(rec, o);
    if (!t)
        return;
    struct row_callback *now = &t->now;
    struct callback_decision d = outcome_decision(o);
    d.is_erased = t->row->erased;
    /* the outcome may be recorded again: after a commit in doubt, even if its group was split
     * since, or because a callback that was handed over late was attempted twice */
    d.is_again = true;
    int32_t attempts = now->life.attempts;
    life_decide(&now->life, &d);
    /* a state that the outcome did not replace does not tell */
    if (o->has_attempt)
        rec->is_repeated |= attempts >= d.attempt || now->life.attempts != d.attempt;
    t->changed = true;
    t->owed = false;
    changes_count_final(&rec->writer->changes, t->row->event.account_no, now);
    release_reversal(rec, t, o);
    if (life_answer_resend(&now->resend, o->resend_no, t->row->erased))
        resend_again(rec, t);
}

/* --- attempts --------------------------------------------------------------------------------- */

static enum pg_fate write_attempts(struct outcomes_recording *rec)
{
    struct delivery_stats_rows *stats = &rec->writer->changes.stats;
    struct pg_table *t = &rec->writer->table;
    table_begin(t, ATTEMPT_TYPES);
    for (size_t i = 0; i < rec->count; i++) {
        const struct outcome *o = rec->items[i];
        struct attempt a = o->attempt;
        const struct touched *touched = touched_of(rec, o);
        if (!o->has_attempt || !touched)
            continue;
        if (touched->row->erased)
            attempt_erase(&a);
        const struct event *e = &touched->row->event;
        pg_attempt_put(t->columns, e, &a, &rec->writer->packer);
        if (!rec->is_repeated)
            delivery_stats_rows_count(stats, e->account_no, lane_of(e->app_no, e->lane), &a);
    }
    if (rec->is_repeated)
        return pg_add_attempts_again(rec->pg, t, stats);
    pg_add_attempts(rec->pg, t);
    return PG_OK;
}

/* --- the group -------------------------------------------------------------------------------- */

static void gather(struct outcomes_recording *rec, struct pg_outcome_slice *slice)
{
    rec->count = slice->count;
    rec->is_repeated = slice->was_tried;
    slice->was_tried = true;
    rec->items = arena_alloc(rec->arena, rec->count * sizeof(struct outcome *) + 1);
    for (size_t i = 0; i < rec->count; i++)
        rec->items[i] = slice->items[i].outcome;
}

static void put_fences(struct outcomes_recording *rec)
{
    struct pg_column shards = {.type = PG_INT2};
    bool asked[SHARDS] = {false};
    for (size_t i = 0; i < rec->count; i++)
        asked[leases_shard(rec->items[i]->lane)] = true;
    for (int i = 0; i < SHARDS; i++)
        if (asked[i])
            column_int(&shards, i);
    args_column(pg_args(rec->pg), &shards);
    buf_free(&shards.bytes);
}

/* Begins the transaction. A node that was stopped for longer than its lease, while another node
 * claimed its shards, finds that out here. */
static enum pg_fate refuse_lost(struct outcomes_recording *rec)
{
    int64_t fences[SHARDS] = {0};
    size_t kept = 0;
    pg_begin_generic(rec->pg);
    put_fences(rec);
    int at = pg_query_prepared(rec->pg,
                               "SELECT shard,fence FROM shard WHERE shard=ANY($1) ORDER BY shard"
                               " FOR KEY SHARE");
    enum pg_fate fate = pg_sync(rec->pg);
    if (fate != PG_OK)
        return fate;
    for (int i = 0; i < PQntuples(pg_result(rec->pg, at)); i++)
        fences[pg_int(pg_result(rec->pg, at), i, 0)] = pg_int(pg_result(rec->pg, at), i, 1);
    for (size_t i = 0; i < rec->count; i++) {
        struct outcome *o = rec->items[i];
        o->refused = o->fence != fences[leases_shard(o->lane)];
        if (!o->refused)
            rec->items[kept++] = o;
    }
    rec->refused = rec->count - kept;
    rec->count = kept;
    return PG_OK;
}

/* Makes the partitions of the attempts' weeks, outside of the transaction. */
static enum pg_fate make_partitions(struct outcomes_recording *rec)
{
    enum pg_fate fate = PG_OK;
    for (size_t i = 0; fate == PG_OK && i < rec->count; i++)
        if (rec->items[i]->has_attempt)
            fate = pg_partition_make(rec->pg, &rec->writer->partitions, PARTITION_WEEK,
                                     pg_week_of_day(clock_day(rec->items[i]->attempt.at_ms)));
    return fate;
}

static int by_callback(const void *a, const void *b)
{
    const struct outcome *x = *(struct outcome *const *)a, *y = *(struct outcome *const *)b;
    if (x->account_no != y->account_no)
        return x->account_no < y->account_no ? -1 : 1;
    return (x->event_no > y->event_no) - (x->event_no < y->event_no);
}

/* True if the callback's row presumed delivery when it was handed out, and says the same as the
 * outcome (pg_row.h). */
static bool is_first_delivery(const struct outcome *o)
{
    return o->presumed.due_ms && o->has_attempt && o->attempt.number == 1 &&
           o->state == CALLBACK_DELIVERED && o->reason == REASON_NONE && o->resend_no == 0;
}

static struct fetch_key key_of(const struct outcome *o)
{
    return (struct fetch_key){o->account_no, o->event_no, FETCH_PERIOD_UNKNOWN};
}

/* Deletes the rows of `waiting` of callbacks whose events' rows presume delivery. Those need not be
 * read: the outcome tells what they say, and nobody changes such a callback without its row of
 * `waiting`. Callbacks that have changed since they were handed out are not among the result.
 * firsts: ordered by callback. */
static enum pg_fate take_waiting(struct outcomes_recording *rec, struct outcome **firsts,
                                 size_t count, struct fetched *ret)
{
    struct pg_table *t = &rec->writer->table;
    table_begin(t, "illl");
    for (size_t i = 0; i < count; i++) {
        column_int(&t->columns[0], firsts[i]->account_no);
        column_int(&t->columns[1], (int64_t)firsts[i]->lane);
        column_int(&t->columns[2], firsts[i]->presumed.due_ms);
        column_int(&t->columns[3], (int64_t)firsts[i]->event_no);
    }
    args_table(pg_args(rec->pg), t);
    int at = pg_query_prepared(
        rec->pg, "DELETE FROM waiting w USING unnest($1,$2,$3,$4) AS u(a,l,d,n)"
                 " WHERE w.account_no=u.a AND w.lane=u.l AND w.due_ms=u.d AND w.event_no=u.n"
                 " AND w.presumed RETURNING w.account_no,w.event_no,w.period");
    enum pg_fate fate = pg_sync(rec->pg);
    if (fate != PG_OK)
        return fate;
    const PGresult *r = pg_result(rec->pg, at);
    ret->rows = arena_alloc(rec->arena, (size_t)PQntuples(r) * sizeof *ret->rows + 1);
    for (int i = 0; i < PQntuples(r); i++) {
        struct outcome key = {.account_no = (uint32_t)pg_int(r, i, 0),
                              .event_no = (uint64_t)pg_int(r, i, 1)};
        struct outcome *const *o =
            bsearch(&(struct outcome *){&key}, firsts, count, sizeof *firsts, by_callback);
        ASSERT(o);
        pg_row_take(*o, (int32_t)pg_int(r, i, 2), &ret->rows[ret->count++]);
    }
    fetched_sort(ret);
    return PG_OK;
}

static void join_rows(struct fetched *to, const struct fetched *more)
{
    if (more->count)
        memcpy(to->rows + to->count, more->rows, more->count * sizeof *more->rows);
    to->count += more->count;
}

/* Fetches the rows of the group's callbacks, and locks them or takes their rows of `waiting`: the
 * latter for the one outcome of a callback in the group, if it is a first delivery.
 *
 * Events are locked before rows of `waiting` (row_changes.c), but for two cases: callbacks that
 * changed between hand-out and outcome, and reversals that wait for a callback that was taken.
 * There an erasure or intake may stand the other way round. The server then ends one of the two
 * transactions after a second, and it is done again. */
static enum pg_fate fetch_touched(struct outcomes_recording *rec)
{
    struct outcome **order = arena_alloc(rec->arena, rec->count * sizeof *order);
    struct outcome **firsts = arena_alloc(rec->arena, rec->count * sizeof *firsts);
    struct fetch_key *keys = arena_alloc(rec->arena, rec->count * sizeof *keys);
    struct fetched locked, taken = {0}, late = {0};
    size_t n = 0, first_count = 0;
    memcpy(order, rec->items, rec->count * sizeof *order);
    qsort(order, rec->count, sizeof *order, by_callback);
    for (size_t i = 0; i < rec->count; i++) {
        bool alone = (i == 0 || by_callback(&order[i - 1], &order[i]) != 0) &&
                     (i + 1 == rec->count || by_callback(&order[i], &order[i + 1]) != 0);
        if (alone && is_first_delivery(order[i]))
            firsts[first_count++] = order[i];
        else
            keys[n++] = key_of(order[i]);
    }
    enum pg_fate fate = fetch_rows(rec->pg, keys, n, FETCH_FOR_UPDATE, false, rec->arena, &locked);
    if (fate == PG_OK && first_count > 0)
        fate = take_waiting(rec, firsts, first_count, &taken);
    n = 0;
    for (size_t i = 0; fate == PG_OK && i < first_count; i++)
        if (!fetched_find(&taken, firsts[i]->account_no, firsts[i]->event_no))
            keys[n++] = key_of(firsts[i]);
    if (fate == PG_OK)
        fate = fetch_rows(rec->pg, keys, n, FETCH_FOR_UPDATE, false, rec->arena, &late);
    if (fate != PG_OK)
        return fate;
    rec->rows.rows = arena_alloc(
        rec->arena, (locked.count + taken.count + late.count) * sizeof *rec->rows.rows + 1);
    join_rows(&rec->rows, &locked);
    join_rows(&rec->rows, &taken);
    join_rows(&rec->rows, &late);
    fetched_sort(&rec->rows);
    return PG_OK;
}

/* Fetches the reversals that wait for the group's callbacks. */
static enum pg_fate fetch_reversals(struct outcomes_recording *rec)
{
    struct pg_table *t = &rec->writer->table;
    table_begin(t, "il");
    for (size_t i = 0; i < rec->rows.count; i++) {
        const struct event *e = &rec->rows.rows[i].event;
        if (e->type != EVENT_OFFER_COMPLETED)
            continue;
        column_int(&t->columns[0], e->account_no);
        column_int(&t->columns[1], (int64_t)e->event_no);
    }
    if (table_rows(t) == 0)
        return PG_OK;
    args_table(pg_args(rec->pg), t);
    int at = pg_query_prepared(rec->pg,
                               "SELECT r.account_no,r.event_no,r.period FROM unnest($1,$2) AS"
                               " u(a,n) JOIN reversal r ON r.account_no=u.a AND r.original_no=u.n");
    enum pg_fate fate = pg_sync(rec->pg);
    if (fate != PG_OK)
        return fate;
    const PGresult *r = pg_result(rec->pg, at);
    size_t n = (size_t)PQntuples(r);
    struct fetch_key *keys = arena_alloc(rec->arena, n * sizeof *keys + 1);
    for (size_t i = 0; i < n; i++)
        keys[i] = (struct fetch_key){(uint32_t)pg_int(r, (int)i, 0), (uint64_t)pg_int(r, (int)i, 1),
                                     (int32_t)pg_int(r, (int)i, 2)};
    return fetch_rows(rec->pg, keys, n, FETCH_FOR_UPDATE, false, rec->arena, &rec->reversals);
}

/* Fetches the originals that decide whether a resent reversal must wait. */
static enum pg_fate fetch_originals(struct outcomes_recording *rec)
{
    struct fetch_key *keys = arena_alloc(rec->arena, rec->rows.count * sizeof *keys + 1);
    size_t n = 0;
    for (size_t i = 0; i < rec->rows.count; i++) {
        const struct pg_row *row = &rec->rows.rows[i];
        if (row->event.original_no && row->callback.resend.no)
            keys[n++] = (struct fetch_key){row->event.account_no, row->event.original_no,
                                           FETCH_PERIOD_UNKNOWN};
    }
    return fetch_rows(rec->pg, keys, n, FETCH_SHARED, false, rec->arena, &rec->originals);
}

/* A row may be in both lists: a reversal with an outcome of its own whose original releases it. It
 * is changed once. */
static bool is_changed(const struct outcomes_recording *rec, const struct touched *t)
{
    const struct event *e = &t->row->event;
    bool released = t >= rec->released && t < rec->released + rec->reversals.count;
    return t->changed && !(released && fetched_find(&rec->rows, e->account_no, e->event_no));
}

/* An erased callback, which has no body to keep, does not wait. */
static void note_final(struct outcomes_recording *rec, const struct touched *t)
{
    const struct event *e = &t->row->event;
    if (retention_ends_late(&t->row->callback.life, &t->now.life, e->accepted_ms, rec->now_ms))
        changes_note_final_late(&rec->writer->changes, e->account_no, t->row->period,
                                clock_day(rec->now_ms));
}

static size_t change_all(struct outcomes_recording *rec, struct touched *touched, size_t count,
                         struct fetch_key *owed)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        struct touched *t = &touched[i];
        if (!is_changed(rec, t))
            continue;
        changes_row(&rec->writer->changes, t->row, &t->now);
        note_final(rec, t);
        if (t->owed)
            owed[n++] = (struct fetch_key){t->row->event.account_no, t->row->event.event_no,
                                           t->row->period};
    }
    return n;
}

/* Reads the callbacks for the sink with their bodies, in their new state. */
static enum pg_fate owe(struct outcomes_recording *rec, struct fetch_key *keys, size_t count)
{
    struct fetched full;
    enum pg_fate fate = fetch_rows(rec->pg, keys, count, FETCH_UNLOCKED, true, rec->arena, &full);
    for (size_t i = 0; fate == PG_OK && i < full.count; i++) {
        struct pg_row *row = &full.rows[i];
        uint32_t account_no = row->event.account_no;
        const struct pg_row *at = fetched_find(&rec->rows, account_no, row->event.event_no);
        if (at)
            row->callback = rec->touched[at - rec->rows.rows].now;
        else if ((at = fetched_find(&rec->reversals, account_no, row->event.event_no)))
            row->callback = rec->released[at - rec->reversals.rows].now;
        if (row->event.body.p)
            pg_writer_owe(rec->writer, pg_row_callback(row));
    }
    return fate;
}

static enum pg_fate write_all(struct outcomes_recording *rec)
{
    struct fetch_key *owed =
        arena_alloc(rec->arena, (rec->rows.count + rec->reversals.count) * sizeof *owed + 1);
    size_t n = change_all(rec, rec->touched, rec->rows.count, owed);
    n += change_all(rec, rec->released, rec->reversals.count, owed + n);
    enum pg_fate fate = owe(rec, owed, n);
    if (fate != PG_OK)
        return fate;
    fate = write_attempts(rec);
    if (fate != PG_OK)
        return fate;
    changes_send(&rec->writer->changes, rec->pg);
    return pg_sync_commit(rec->s, rec->pg);
}

static enum pg_fate record(struct outcomes_recording *rec)
{
    enum pg_fate fate = make_partitions(rec);
    if (fate != PG_OK)
        return fate;
    fate = refuse_lost(rec);
    if (fate == PG_OK && rec->count == 0) {
        pg_rollback(rec->pg);
        return PG_OK;
    }
    if (fate == PG_OK)
        fate = fetch_touched(rec);
    if (fate == PG_OK)
        fate = fetch_reversals(rec);
    if (fate == PG_OK)
        fate = fetch_originals(rec);
    if (fate != PG_OK)
        return fate;
    take_touched(rec);
    changes_begin(&rec->writer->changes);
    for (size_t i = 0; i < rec->count; i++)
        take_outcome(rec, rec->items[i]);
    return write_all(rec);
}

enum pg_fate pg_record(struct postgresql_store *s, struct pg *pg, void *outcome_slice)
{
    struct outcomes_recording rec = {.s = s,
                                     .pg = pg,
                                     .writer = &s->outcome_writer,
                                     .arena = &s->outcome_writer.scratch,
                                     .now_ms = env_wall_ms(s->env)};
    gather(&rec, outcome_slice);
    enum pg_fate fate = rec.count > 0 ? record(&rec) : PG_OK;
    if (fate == PG_OK && rec.refused > 0) {
        atomic_fetch_add(&s->nodes.refused, (long long)rec.refused);
        log_warning("outcomes_refused", LOG_INT("count", rec.refused),
                    LOG_C("why", "other nodes have their shards by now"));
    }
    return fate;
}
