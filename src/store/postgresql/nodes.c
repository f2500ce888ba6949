/* Renews this node's lease, and claims and releases its shards: see nodes.h.
 *
 * The order matters twice. A renewal counts from when it was sent, so that this process's lease
 * ends before the database's. A shard's fence is published before its lanes are read, so that their
 * callbacks are not thrown away.
 *
 * Locks, in the order in which they are taken:
 *
 *   look      the row of this node, and nothing after it
 *   act       shards to release; rows of nodes whose leases have ended; shards to claim
 *   leave     shards of this node, then its row
 *   outcomes  shards (FOR KEY SHARE), never nodes
 *
 * An act skips rows of nodes and shards to claim that others have locked. So it can wait only for
 * its release, for a claim of the same shard, and a claim is the last statement of its transaction.
 * So nobody waits for somebody who waits for them. */
#include "store/postgresql/nodes.h"

#include "base/alloc.h"
#include "base/log.h"
#include "store/postgresql/change_log.h"
#include "store/postgresql/pg_connect.h"
#include "store/postgresql/postgresql_store.h"
#include "store/postgresql/transaction_retry.h"

#include <inttypes.h>
#include <stdlib.h>

#define STEP_MS 250
#define STEP_DRAINING_MS 20
#define STEP_CATCHING_UP_MS 50
#define LOOK_LASTS_MS 1000 /* four looks at changes, so that one may be slow */
#define FORGET_NODES_S 3600

/* Microseconds do not depend on the session's time zone, so an entry can be compared anywhere. */
#define UNTIL_US(until) "(extract(epoch FROM " until " AT TIME ZONE 'UTC')*1000000)::bigint"

/* What a transaction saw: the input of the decision, and more. */
struct nodes_seen {
    struct shards_seen seen;
    uint64_t nodes[NODES_MOST];
    uint64_t alive[NODES_MOST]; /* with those that are leaving; ascending */
    size_t alive_count;
    uint64_t lapsed[NODES_MOST]; /* their leases have ended, but their processes may run */
    size_t lapsed_count;
    uint64_t gone[NODES_MOST];      /* to be deleted, */
    int64_t gone_until[NODES_MOST]; /* if their leases still end then, in microseconds */
    size_t gone_count;
    uint64_t owners[SHARDS]; /* as stored; the node may be gone */
};

/* --- reading ---------------------------------------------------------------------------------- */

static bool has_node(const uint64_t *nodes, size_t count, uint64_t node)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

/* awaits_others: nodes that were away for long keep their rows, so that their shards count as
 * lapsed and not as nobody's. */
static void read_nodes(struct nodes_seen *v, const PGresult *r, bool awaits_others)
{
    for (int i = 0; i < PQntuples(r); i++) {
        uint64_t node = (uint64_t)pg_int(r, i, 0);
        bool leaving = pg_int(r, i, 1) != 0, runs = pg_int(r, i, 2) != 0,
             old = pg_int(r, i, 3) != 0;
        bool gone = process_is_gone(pg_str(r, i, 4));
        if ((gone || (old && !awaits_others)) && v->gone_count < NODES_MOST) {
            v->gone[v->gone_count] = node;
            v->gone_until[v->gone_count++] = pg_int(r, i, 5);
        }
        if (!gone && !runs && v->lapsed_count < NODES_MOST)
            v->lapsed[v->lapsed_count++] = node;
        if (gone || !runs || v->alive_count == NODES_MOST)
            continue;
        v->alive[v->alive_count++] = node;
        if (!leaving)
            v->nodes[v->seen.node_count++] = node;
    }
}

static void read_shards(struct nodes_seen *v, const PGresult *r)
{
    for (int i = 0; i < PQntuples(r); i++) {
        int64_t shard = pg_int(r, i, 0);
        ASSERT(shard >= 0 && shard < SHARDS);
        uint64_t owner = (uint64_t)pg_int(r, i, 1);
        v->owners[shard] = owner;
        bool alive = has_node(v->alive, v->alive_count, owner);
        v->seen.shards[shard] = (struct shard_seen){alive ? owner : 0, pg_int(r, i, 2)};
        v->seen.lapsed[shard] = has_node(v->lapsed, v->lapsed_count, owner);
    }
}

/* At the least: the server's clock was read after sent_ms and before now_ms. Negative: behind. */
static int64_t clock_ahead_ms(int64_t sent_ms, int64_t server_ms, int64_t now_ms)
{
    if (sent_ms > server_ms)
        return sent_ms - server_ms;
    return now_ms < server_ms ? now_ms - server_ms : 0;
}

static void note_clock(struct pg_nodes *n, int64_t ahead_ms)
{
    bool is_apart = store_clock_is_apart(ahead_ms);
    bool was_apart = store_clock_is_apart(atomic_exchange(&n->clock_ahead_ms, ahead_ms));
    if (is_apart && !was_apart)
        log_warning("clock_apart", LOG_C("node", n->name), LOG_INT("ahead_ms", ahead_ms),
                    LOG_C("what", "this machine's clock and the database's differ"),
                    LOG_C("fix", "set the wrong one of them; NTP keeps them right"));
    else if (was_apart && !is_apart)
        log_info("clock_together", LOG_C("node", n->name), LOG_INT("ahead_ms", ahead_ms));
}

static enum pg_fate look(struct pg_nodes *n, struct nodes_seen *v)
{
    struct pg *pg = &n->pg;
    int64_t sent_mono_ms = env_mono_ms(env_real()), sent_ms = env_wall_ms(env_real());
    *v = (struct nodes_seen){.seen.nodes = v->nodes};
    pg_begin(pg, false);
    args_int(pg_args(pg), PG_INT8, (int64_t)n->member.self);
    args_str(&pg->args, PG_TEXT, str_of(n->name));
    args_str(&pg->args, PG_TEXT, str_of(n->holder));
    args_int(&pg->args, PG_BOOL, n->member.leaving);
    int renewed = pg_query_f(
        pg,
        "INSERT INTO node(node,name,holder,leaving,until)"
        " VALUES($1,$2,$3,$4,clock_timestamp()+interval '%d ms') ON CONFLICT(node)"
        " DO UPDATE SET leaving=excluded.leaving,until=excluded.until RETURNING " UNTIL_US("until"),
        NODE_LEASE_MS);
    int nodes = pg_exec_f(pg,
                          "SELECT node,leaving,until>clock_timestamp(),"
                          "until<clock_timestamp()-interval '%d s',holder," UNTIL_US(
                              "until") " FROM node ORDER BY node",
                          FORGET_NODES_S);
    int shards = pg_exec(pg, "SELECT shard,node,fence FROM shard ORDER BY shard");
    pg_commit(pg);
    enum pg_fate fate = pg_sync(pg);
    if (fate != PG_OK)
        return fate;
    int64_t now = env_mono_ms(env_real());
    int64_t server_ms = pg_int(pg_result(pg, renewed), 0, 0) / 1000 - NODE_LEASE_MS;
    note_clock(n, clock_ahead_ms(sent_ms, server_ms, env_wall_ms(env_real())));
    member_renewed(&n->member, sent_mono_ms, now);
    read_nodes(v, pg_result(pg, nodes), member_awaits_others(&n->member, now));
    read_shards(v, pg_result(pg, shards));
    return PG_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Compares the fence, too, so that a late release does not free a shard that was claimed again. */
static void put_release(struct pg *pg, const struct member *m, const struct shards_todo *todo)
{
    struct pg_column shards = {.type = PG_INT2}, fences = {.type = PG_INT8};
    for (size_t i = 0; i < todo->releases; i++) {
        column_int(&shards, todo->release[i]);
        column_int(&fences, m->holds[todo->release[i]].fence);
    }
    args_column(pg_args(pg), &shards);
    args_column(&pg->args, &fences);
    args_int(&pg->args, PG_INT8, (int64_t)m->self);
    pg_query(pg, "UPDATE shard s SET node=0 FROM unnest($1,$2) AS u(shard,fence)"
                 " WHERE s.shard=u.shard AND s.fence=u.fence AND s.node=$3");
    buf_free(&shards.bytes);
    buf_free(&fences.bytes);
}

/* The owner may have renewed its lease since the read. So a shard is claimed only if the row of its
 * owner is locked here with its lease ended: a renewal that comes later waits for this transaction,
 * and then sees its claims. SKIP LOCKED leaves the shards of an owner that is just renewing its
 * lease for the next time.
 *
 * FOR UPDATE of a shard excludes transactions that write under the old fence; SKIP LOCKED leaves a
 * shard with such a transaction, so that a stuck one does not hold up the other shards. */
static int put_claim(struct pg *pg, uint64_t self, const struct shards_todo *todo)
{
    struct pg_column shards = {.type = PG_INT2}, fences = {.type = PG_INT8};
    for (size_t i = 0; i < todo->claims; i++) {
        column_int(&shards, todo->claim[i]);
        column_int(&fences, todo->claim_fence[i]);
    }
    args_column(pg_args(pg), &shards);
    args_column(&pg->args, &fences);
    args_int(&pg->args, PG_INT8, (int64_t)self);
    int at = pg_query(pg, "WITH ended AS (SELECT node FROM node WHERE until<=now() AND node<>$3"
                          " ORDER BY node FOR UPDATE SKIP LOCKED),"
                          " free AS (SELECT s.shard FROM unnest($1,$2) AS u(shard,fence)"
                          " JOIN shard s ON s.shard=u.shard AND s.fence=u.fence"
                          " WHERE s.node IN(0,$3) OR s.node IN(SELECT node FROM ended)"
                          " OR NOT EXISTS(SELECT FROM node n WHERE n.node=s.node)"
                          " ORDER BY s.shard FOR UPDATE OF s SKIP LOCKED)"
                          " UPDATE shard t SET node=$3,fence=t.fence+1 FROM free"
                          " WHERE t.shard=free.shard RETURNING t.shard,t.fence");
    buf_free(&shards.bytes);
    buf_free(&fences.bytes);
    return at;
}

/* A node that has renewed its lease since the read stays, and so does one that does so now. */
static void put_forget(struct pg *pg, const struct nodes_seen *v)
{
    struct pg_column gone = {.type = PG_INT8}, until = {.type = PG_INT8};
    for (size_t i = 0; i < v->gone_count; i++) {
        column_int(&gone, (int64_t)v->gone[i]);
        column_int(&until, v->gone_until[i]);
    }
    args_column(pg_args(pg), &gone);
    args_column(&pg->args, &until);
    pg_query(pg, "DELETE FROM node WHERE node IN(SELECT n.node FROM unnest($1,$2) AS g(node,until)"
                 " JOIN node n ON n.node=g.node AND " UNTIL_US(
                     "n.until") "=g.until"
                                " ORDER BY n.node FOR UPDATE OF n SKIP LOCKED)");
    buf_free(&gone.bytes);
    buf_free(&until.bytes);
}

static void take_claimed(struct pg_nodes *n, const struct nodes_seen *v, const PGresult *r)
{
    for (int i = 0; i < PQntuples(r); i++) {
        uint32_t shard = (uint32_t)pg_int(r, i, 0);
        member_claimed(&n->member, shard, pg_int(r, i, 1));
        atomic_fetch_add(&n->takeovers, v->owners[shard] != 0);
    }
}

static enum pg_fate act(struct pg_nodes *n, const struct nodes_seen *v,
                        const struct shards_todo *todo)
{
    struct pg *pg = &n->pg;
    int claimed = -1;
    pg_begin(pg, false);
    if (todo->releases > 0)
        put_release(pg, &n->member, todo);
    /* first, so that the leases of dead processes do not count for the claims */
    if (v->gone_count > 0)
        put_forget(pg, v);
    if (todo->claims > 0)
        claimed = put_claim(pg, n->member.self, todo);
    pg_commit(pg);
    enum pg_fate fate = pg_sync(pg);
    if (fate != PG_OK)
        return fate;
    for (size_t i = 0; i < todo->releases; i++)
        member_released(&n->member, todo->release[i]);
    if (claimed >= 0)
        take_claimed(n, v, pg_result(pg, claimed));
    return PG_OK;
}

/* --- notifying -------------------------------------------------------------------------------- */

static void tell_leases(struct pg_nodes *n)
{
    pthread_mutex_lock(&n->watching);
    if (n->watcher)
        n->watcher->leases(n->watcher);
    pthread_mutex_unlock(&n->watching);
}

static void publish(struct pg_nodes *n)
{
    struct leases_published published;
    leases_publish(&n->leases, &n->member, &published);
    for (size_t i = 0; i < SHARDS; i++)
        if (published.gained[i])
            atomic_store(&n->fresh[i], true);
    bool had_ended = env_mono_ms(env_real()) >= published.until_before_mono_ms;
    atomic_store(&n->held, (long long)member_held(&n->member));
    if (published.any_fence_changed || had_ended)
        tell_leases(n);
}

/* Publishes a look, after the watcher has been told of the erasures that it found. Two looks that
 * are too far apart are a lapse: this process was stopped, or could not reach the database. Other
 * changes than erasures are then waited for, too: settings, secrets, URLs. Without a lapse they are
 * not, so that a slow import at another node does not hold up deliveries. */
static void publish_look(struct postgresql_store *s, int64_t sent_mono_ms)
{
    struct pg_nodes *n = &s->nodes;
    if (sent_mono_ms - n->looked_mono_ms >= LOOK_LASTS_MS)
        n->lapse_revision = n->erasures_known;
    n->looked_mono_ms = sent_mono_ms;
    if (n->lapse_revision > 0) {
        if (atomic_load(&s->revision_applied) < n->lapse_revision) {
            pg_nodes_tell_objects(n);
            return;
        }
        n->lapse_revision = 0;
        atomic_fetch_add(&n->leases.lapses, 1);
    }
    int64_t before = atomic_exchange(&n->leases.looked_until_mono_ms, sent_mono_ms + LOOK_LASTS_MS);
    if (env_mono_ms(env_real()) >= before)
        tell_leases(n);
}

void pg_nodes_watch(struct pg_nodes *n, struct store_watcher *watcher)
{
    pthread_mutex_lock(&n->watching);
    n->watcher = watcher;
    pthread_mutex_unlock(&n->watching);
}

void pg_nodes_tell_waiting(struct pg_nodes *n, const struct lane_backlog *lanes, size_t count)
{
    pthread_mutex_lock(&n->watching);
    if (count > 0 && n->watcher)
        n->watcher->waiting(n->watcher, lanes, count);
    pthread_mutex_unlock(&n->watching);
}

void pg_nodes_tell_erased(struct pg_nodes *n, uint32_t account_no, int64_t mono_ms)
{
    pthread_mutex_lock(&n->watching);
    if (n->watcher)
        n->watcher->erased(n->watcher, account_no, mono_ms);
    pthread_mutex_unlock(&n->watching);
}

void pg_nodes_tell_objects(struct pg_nodes *n)
{
    pthread_mutex_lock(&n->watching);
    if (n->watcher)
        n->watcher->objects(n->watcher);
    pthread_mutex_unlock(&n->watching);
}

void pg_nodes_tell_asked(struct pg_nodes *n, int64_t question, uint32_t app_no,
                         enum question_scope scope)
{
    pthread_mutex_lock(&n->watching);
    if (n->watcher)
        n->watcher->asked(n->watcher, question, app_no, scope);
    pthread_mutex_unlock(&n->watching);
}

static void note_turn(struct pg_nodes *n, const struct nodes_seen *v,
                      const struct shards_todo *todo, size_t held_before)
{
    size_t held = member_held(&n->member);
    atomic_fetch_add(&n->lost, (long long)todo->lost);
    atomic_store(&n->alive, (long long)v->alive_count);
    if (held != held_before || todo->lost > 0 || v->alive_count != n->alive_before)
        log_info("shards", LOG_C("node", n->name), LOG_INT("held", held),
                 LOG_INT("before", held_before), LOG_INT("lost", todo->lost),
                 LOG_INT("nodes", v->alive_count));
    n->alive_before = v->alive_count;
}

static void read_busy(struct pg_nodes *n, int32_t busy[SHARDS])
{
    for (size_t i = 0; i < SHARDS; i++)
        busy[i] = atomic_load(&n->leases.busy[i]);
}

static enum pg_fate turn(struct pg_nodes *n)
{
    struct nodes_seen v;
    struct shards_todo todo;
    int32_t busy[SHARDS];
    size_t held_before = member_held(&n->member);
    enum pg_fate fate = look(n, &v);
    if (fate != PG_OK)
        return fate;
    /* draining shards must be published before busy exchanges are counted */
    read_busy(n, busy);
    member_look(&n->member, &v.seen, busy, env_mono_ms(env_real()), &todo);
    publish(n);
    if (todo.releases + todo.claims + v.gone_count > 0)
        fate = act(n, &v, &todo);
    publish(n);
    note_turn(n, &v, &todo, held_before);
    return fate;
}

/* This thread looks at changes because it does no long work: the control thread may be behind. */
static enum pg_fate look_at_changes(struct postgresql_store *s)
{
    int64_t sent_mono_ms = env_mono_ms(env_real());
    enum pg_fate fate = change_log_read_erasures(&s->nodes);
    if (fate == PG_OK)
        publish_look(s, sent_mono_ms);
    return fate;
}

/* --- the thread ------------------------------------------------------------------------------- */

bool pg_nodes_join(struct postgresql_store *s)
{
    struct pg_nodes *n = &s->nodes;
    uint64_t self = 0;
    while (self == 0) {
        env_random(env_real(), &self, sizeof self);
        self >>= 1; /* the database's integers are signed */
    }
    member_init(&n->member, self);
    process_identity(n->holder);
    n->erasures_known = INT64_MAX; /* no lane is in memory yet */
    return pg_connect(&n->pg) && turn(n) == PG_OK && look_at_changes(s) == PG_OK;
}

void pg_nodes_leave(struct postgresql_store *s)
{
    struct pg *pg = &s->nodes.pg;
    if (!s->nodes.member.self || !pg->connection || !pg_connect(pg))
        return; /* a lease that cannot be given back ends by itself */
    pg_begin(pg, false);
    args_int(pg_args(pg), PG_INT8, (int64_t)s->nodes.member.self);
    pg_query(pg, "UPDATE shard SET node=0 WHERE node=$1");
    args_int(pg_args(pg), PG_INT8, (int64_t)s->nodes.member.self);
    pg_query(pg, "DELETE FROM node WHERE node=$1");
    pg_commit(pg);
    (void)!pg_sync(pg);
}

static bool is_draining(const struct member *m)
{
    for (size_t i = 0; i < SHARDS; i++)
        if (m->holds[i].state == SHARD_DRAINING)
            return true;
    return false;
}

static int64_t look_step_ms(const struct pg_nodes *n)
{
    return n->lapse_revision > 0 ? STEP_CATCHING_UP_MS : STEP_MS;
}

void *pg_nodes_main(void *arg)
{
    struct postgresql_store *s = arg;
    CHECK_MAGIC(s, POSTGRESQL_STORE_MAGIC);
    struct pg_nodes *n = &s->nodes;
    int64_t due_mono_ms = 0, look_mono_ms = 0;
    bool good = true;
    pthread_setname_np(pthread_self(), "store-nodes");
    while (!queue_has_any(&s->to_nodes,
                          is_draining(&n->member) ? STEP_DRAINING_MS : look_step_ms(n))) {
        int32_t busy[SHARDS];
        int64_t now = env_mono_ms(env_real());
        bool leaving = atomic_load(&n->leaving);
        read_busy(n, busy);
        bool is_due = now >= due_mono_ms || leaving != n->member.leaving ||
                      member_can_release(&n->member, busy, now);
        if (!is_due && now < look_mono_ms)
            continue;
        n->member.leaving = leaving;
        bool reached = pg_store_connect(s, &n->pg), was_good = good;
        good = reached && (!is_due || turn(n) == PG_OK) && look_at_changes(s) == PG_OK;
        if (good || !reached || !was_good) /* one broken connection is not reported */
            pg_store_note_away(s, &n->pg, !good);
        look_mono_ms = now + look_step_ms(n);
        if (is_due || !good)
            due_mono_ms = good ? now + NODE_RENEW_MS : 0;
    }
    return NULL;
}
