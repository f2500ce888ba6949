/* Hand-over of callbacks between nodes.
 *
 * A row in `handover` means: read this lane, or take this callback. It is written in the
 * transaction of the change if the lane is not this node's then, or after the commit if the node
 * has lost the lane meanwhile. Nodes poll up to forty times a second, and take only rows of shards
 * that the database says are theirs. A node that claims a shard reads all its waiting lanes after
 * the claim, so it misses nothing if the former owner has taken a row and deleted it.
 *
 * One gap is left: a node may die between its commit and the row after it. That is why each node
 * searches its own lanes for late callbacks now and then. */
#include "store/postgresql/handover.h"

#include "base/alloc.h"
#include "base/log.h"
#include "store/nodes/handoff_codec.h"
#include "store/postgresql/fetch_rows.h"
#include "store/postgresql/pg_connect.h"

#include <stdlib.h>

#define RESCAN_MS 60000
#define LATE_MS 15000

/* --- writing rows ----------------------------------------------------------------------------- */

static void add(struct pg_table *t, uint32_t account_no, lane_no lane, int64_t due_ms,
                uint64_t event_no, int32_t period, struct str callbacks)
{
    struct pg_column *c = t->columns;
    column_int(c++, account_no);
    column_int(c++, leases_shard(lane));
    column_int(c++, (int64_t)lane);
    column_int(c++, due_ms);
    column_int(c++, (int64_t)event_no);
    column_int(c++, period);
    column_str(c++, callbacks);
}

void handover_begin(struct pg_table *t)
{
    table_begin(t, "isllliy");
}

/* Adds a row: read that lane. */
static void handover_lane(struct pg_table *t, uint32_t account_no, lane_no lane, int64_t due_ms)
{
    add(t, account_no, lane, due_ms, 0, 0, STR_NONE);
}

void handover_callback(struct pg_table *t, const struct pg_row *row)
{
    const struct event *e = &row->event;
    add(t, e->account_no, lane_of(e->app_no, e->lane), row->callback.life.place.due_ms, e->event_no,
        row->period, STR_NONE);
}

void handover_events(struct pg_table *t, const struct event *const *events, size_t count)
{
    const struct event *first = events[0];
    lane_no lane = lane_of(first->app_no, first->lane);
    struct buf row = {0};
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += handoff_bytes(events[i]);
    if (total > HANDOFF_BYTES_MOST) {
        handover_lane(t, first->account_no, lane, first->due_ms);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (row.n > 0 && row.n + handoff_bytes(events[i]) > HANDOFF_ROW_BYTES) {
            add(t, first->account_no, lane, first->due_ms, 0, 0, buf_str(&row));
            buf_clear(&row);
        }
        handoff_encode(&row, events[i]);
    }
    add(t, first->account_no, lane, first->due_ms, 0, 0, buf_str(&row));
    buf_free(&row);
}

void handover_send(struct pg_writer *writer)
{
    pg_query_table(&writer->pg, &writer->handover,
                   "INSERT INTO handover(account_no,shard,lane,due_ms,event_no,period,callbacks)"
                   " SELECT * FROM unnest($1,$2,$3,$4,$5,$6,$7)");
    writer->handed_over += table_rows(&writer->handover);
}

void handover_behind(struct postgresql_store *s, struct pg_writer *writer)
{
    size_t kept = 0;
    struct leases *leases = &s->nodes.leases;
    /* if the lease has ended, another node may have claimed the shard and read its waiting lanes
     * before this commit */
    bool lasts = leases_last(leases, env_mono_ms(env_real()));
    handover_begin(&writer->handover);
    for (size_t i = 0; i < writer->owed_count; i++) {
        struct callback *c = writer->owed[i];
        lane_no lane = lane_of(c->app_no, c->lane);
        if (lasts && leases_have(leases, lane)) {
            writer->owed[kept++] = c;
            continue;
        }
        handover_lane(&writer->handover, c->account_no, lane, c->place.due_ms);
        callback_free(c);
    }
    writer->owed_count = kept;
    if (table_rows(&writer->handover) == 0)
        return;
    bool good = pg_connect(&writer->pg);
    if (good) {
        pg_begin(&writer->pg, false);
        handover_send(writer);
        pg_commit(&writer->pg);
        good = pg_sync(&writer->pg) == PG_OK;
    }
    if (good)
        atomic_fetch_add(&s->nodes.handed_over, table_rows(&writer->handover));
    else
        log_warning("handover_failed", LOG_STR("why", buf_str(&writer->pg.why)));
}

/* --- reading rows ----------------------------------------------------------------------------- */

struct heard {
    const struct hearing *last;
    bool sure; /* callbacks in the rows may be used: nothing was erased meanwhile */
    /* one for each row; the first `look` of them must be read in any case */
    struct lane_backlog *lanes;
    size_t look, rows;
    struct fetch_key *keys;
    size_t key_count;
    struct callback **owed; /* new callbacks come before resends of them */
    size_t owed_count, owed_capacity;
    struct arena arena;
};

enum {
    HEARD_REVISION,
    HEARD_ACCOUNT,
    HEARD_LANE,
    HEARD_DUE,
    HEARD_EVENT,
    HEARD_PERIOD,
    HEARD_FENCE,
    HEARD_CALLBACKS
};

static void owe(struct heard *h, struct callback *c)
{
    *ARRAY_PUSH(h->owed, h->owed_count, h->owed_capacity) = c;
}

/* Takes the callbacks in a row. False: there are none, or some have an unknown layout; the others
 * may be handed out all the same. */
static bool take_carried(struct heard *h, const PGresult *r, int row)
{
    struct str rest = pg_str(r, row, HEARD_CALLBACKS);
    lane_no lane = (lane_no)pg_int(r, row, HEARD_LANE);
    struct event e;
    bool any = h->sure && rest.n > 0;
    while (any && handoff_decode(&rest, &e)) {
        e.account_no = (uint32_t)pg_int(r, row, HEARD_ACCOUNT);
        e.lane = lane_kind_of(lane);
        e.state = CALLBACK_PENDING;
        struct callback_life life = life_accept(&e, NULL);
        /* a row carries new callbacks that are due: their events' rows presume delivery */
        struct callback *c = pg_callback_new(&e, &life, true);
        c->stamp = (struct handoff_stamp){pg_int(r, row, HEARD_FENCE), h->last->since_mono_ms};
        owe(h, c);
    }
    return any && rest.n == 0;
}

static void read_heard(struct heard *h, const PGresult *r)
{
    size_t n = (size_t)PQntuples(r);
    h->lanes = arena_alloc(&h->arena, n * sizeof *h->lanes + 1);
    h->keys = arena_alloc(&h->arena, n * sizeof *h->keys + 1);
    for (int i = 0; i < (int)n; i++) {
        uint64_t event_no = (uint64_t)pg_int(r, i, HEARD_EVENT);
        if (pg_is_null(r, i, HEARD_LANE))
            continue; /* no row: the left join has only the revision */
        h->lanes[h->rows++] =
            (struct lane_backlog){(lane_no)pg_int(r, i, HEARD_LANE), pg_int(r, i, HEARD_DUE)};
        if (event_no) {
            h->keys[h->key_count++] =
                (struct fetch_key){(uint32_t)pg_int(r, i, HEARD_ACCOUNT), event_no,
                                   (int32_t)pg_int(r, i, HEARD_PERIOD)};
        } else if (!take_carried(h, r, i)) {
            struct lane_backlog lane = h->lanes[h->rows - 1];
            h->lanes[h->rows - 1] = h->lanes[h->look];
            h->lanes[h->look++] = lane;
        }
    }
}

/* Hands each callback over as the node that changed it would have. */
static enum pg_fate look_up(struct pg *pg, struct heard *h, int64_t since_mono_ms)
{
    struct fetched rows;
    enum pg_fate fate =
        fetch_rows(pg, h->keys, h->key_count, FETCH_UNLOCKED, true, &h->arena, &rows);
    for (size_t i = 0; fate == PG_OK && i < rows.count; i++) {
        const struct pg_row *row = &rows.rows[i];
        if (row->callback.life.wait != WAIT_DUE || !row->event.body.p)
            continue;
        struct callback *c = pg_row_callback(row);
        c->stamp.since_mono_ms = since_mono_ms;
        owe(h, c);
    }
    return fate;
}

/* Callbacks are handed out only after the commit: a row that stays is read again, and its callbacks
 * must not be handed out twice. If the commit is in doubt the lanes are read instead, which may
 * happen twice without harm. */
static void tell(struct postgresql_store *s, struct heard *h, bool committed)
{
    pg_nodes_tell_waiting(&s->nodes, h->lanes, committed ? h->look : h->rows);
    if (committed && h->owed_count > 0)
        s->sink->owed(s->sink, h->owed, h->owed_count);
    for (size_t i = 0; !committed && i < h->owed_count; i++)
        callback_free(h->owed[i]);
    free(h->owed);
    arena_free(&h->arena);
}

/* One snapshot, so that an unchanged revision proves that no callback in the rows was erased. */
static const char poll_query[] =
    "WITH gone AS (DELETE FROM handover h USING shard s WHERE s.node=$1 AND h.shard=s.shard"
    " RETURNING h.account_no,h.lane,h.due_ms,h.event_no,h.period,s.fence,h.callbacks)"
    " SELECT r.revision,g.* FROM revision r LEFT JOIN gone g ON true WHERE r.name='object'";

enum pg_fate handover_poll(struct postgresql_store *s, struct pg *pg, struct hearing *last)
{
    struct heard h = {.last = last};
    struct hearing now = {.since_mono_ms = env_mono_ms(env_real())};
    last->heard = false;
    pg_begin_generic(pg);
    args_int(pg_args(pg), PG_INT8, (int64_t)s->nodes.member.self);
    int at = pg_query_prepared(pg, poll_query);
    enum pg_fate fate = pg_sync(pg);
    if (fate != PG_OK)
        return fate;
    now.revision = pg_int(pg_result(pg, at), 0, HEARD_REVISION);
    h.sure = last->since_mono_ms > 0 && last->revision == now.revision;
    read_heard(&h, pg_result(pg, at));
    now.heard = h.rows > 0;
    if (h.key_count > 0)
        fate = look_up(pg, &h, now.since_mono_ms);
    if (fate == PG_OK) {
        pg_commit(pg);
        fate = pg_sync(pg);
    }
    tell(s, &h, fate == PG_OK);
    if (fate != PG_OK)
        return fate;
    *last = now;
    /* repeated until the revision is known here, because a watcher may be unable to read the log at
     * the moment */
    if (now.revision > atomic_load(&s->revision_known))
        pg_nodes_tell_objects(&s->nodes);
    return fate;
}

/* --- reading waiting lanes ------------------------------------------------------------------ */

/* Jumps from lane to lane: one step for each lane, whatever the number of callbacks. */
static const char backlog_query[] =
    "WITH RECURSIVE lanes AS ((SELECT account_no,lane,due_ms FROM waiting"
    " ORDER BY account_no,lane,due_ms LIMIT 1) UNION ALL SELECT n.account_no,n.lane,n.due_ms"
    " FROM lanes l CROSS JOIN LATERAL (SELECT w.account_no,w.lane,w.due_ms FROM waiting w"
    " WHERE (w.account_no,w.lane)>(l.account_no,l.lane) ORDER BY w.account_no,w.lane,w.due_ms"
    " LIMIT 1) n) SELECT lane,due_ms FROM lanes WHERE lane>0";

enum pg_fate handover_backlog(struct pg *pg, const bool shards[SHARDS], int64_t due_ms,
                              struct lane_backlog **ret_lanes, size_t *ret_count)
{
    pg_begin(pg, true);
    int at = pg_exec(pg, backlog_query);
    enum pg_fate fate = pg_end_read(pg);
    size_t count = fate == PG_OK ? (size_t)PQntuples(pg_result(pg, at)) : 0, kept = 0;
    *ret_lanes = xcalloc(count + 1, sizeof **ret_lanes);
    for (size_t i = 0; i < count; i++) {
        struct lane_backlog lane = {(lane_no)pg_int(pg_result(pg, at), (int)i, 0),
                                    pg_int(pg_result(pg, at), (int)i, 1)};
        if (shards[leases_shard(lane.lane)] && lane.next_due_ms <= due_ms)
            (*ret_lanes)[kept++] = lane;
    }
    *ret_count = kept;
    return fate;
}

static enum pg_fate rescan(struct postgresql_store *s, struct pg *pg, const bool shards[SHARDS],
                           int64_t due_ms)
{
    struct lane_backlog *lanes;
    size_t count;
    enum pg_fate fate = handover_backlog(pg, shards, due_ms, &lanes, &count);
    pg_nodes_tell_waiting(&s->nodes, lanes, count);
    free(lanes);
    return fate;
}

enum pg_fate handover_rescan(struct postgresql_store *s, struct pg *pg, int64_t *due_mono_ms)
{
    bool fresh[SHARDS], own[SHARDS], any = false;
    for (size_t i = 0; i < SHARDS; i++) {
        fresh[i] = atomic_exchange(&s->nodes.fresh[i], false);
        own[i] = atomic_load(&s->nodes.leases.fence[i]) != 0;
        any |= fresh[i];
    }
    enum pg_fate fate = any ? rescan(s, pg, fresh, INT64_MAX) : PG_OK;
    for (size_t i = 0; fate != PG_OK && i < SHARDS; i++)
        if (fresh[i])
            atomic_store(&s->nodes.fresh[i], true);
    int64_t now = env_mono_ms(env_real());
    if (fate != PG_OK || now < *due_mono_ms)
        return fate;
    *due_mono_ms = now + RESCAN_MS;
    return rescan(s, pg, own, env_wall_ms(s->env) - LATE_MS);
}
