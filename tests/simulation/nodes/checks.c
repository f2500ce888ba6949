/* What must hold, judged by what the database knows and no node does: who claimed a shard last, how
 * often, and whose lease still runs. */
#include "nodes.h"

#define SETTLED_MS (24 * SECOND) /* patience, a lease, a drain, a leave and some turns */
#define LATE_MS (32 * SECOND)    /* and what was under way, and a backlog */
#define LATE_DUE_MS (5 * SECOND)
#define LOST_MS (110 * SECOND) /* and what is late, looked for once a minute */

static const char *const names[] = {
    [CHECK_FENCE] = "fence", [CHECK_FENCED] = "fenced", [CHECK_ALONE] = "alone",
    [CHECK_LEASE] = "lease", [CHECK_FINAL] = "final",   [CHECK_DRAINED] = "drained",
    [CHECK_LATE] = "late",   [CHECK_LOST] = "lost",     [CHECK_EVEN] = "even",
    [CHECK_STILL] = "still",
};

const char *checker_name(enum checker c)
{
    return names[c];
}

/* After each transaction that may change them. */
void checks_shards(const struct shard_seen before[SHARDS], uint64_t by)
{
    for (size_t i = 0; i < SHARDS; i++) {
        const struct shard_seen *was = &before[i], *is = &w.db.shards[i];
        if (is->fence < was->fence ||
            (is->owner && is->owner != was->owner && is->fence == was->fence))
            world_found(CHECK_FENCE, "shard %zu went from %d to %d, its fence from %d to %d", i,
                        (int)was->owner, (int)is->owner, (int)was->fence, (int)is->fence);
        if (is->owner == was->owner)
            continue;
        world_trace("shard %zu: %d -> %d by %d, fence %d", i, (int)was->owner, (int)is->owner,
                    (int)by, (int)is->fence);
        if (w.calm && w.now_ms > w.calm_ms + SETTLED_MS)
            world_found(CHECK_STILL, "shard %zu went from %d to %d though nothing happens", i,
                        (int)was->owner, (int)is->owner);
    }
}

void checks_starting(const struct node *n, const struct outcome *o)
{
    const struct callback *c = &w.db.callbacks[o->callback];
    uint32_t shard = shard_of_lane(c->lane);
    const struct shard_seen *s = &w.db.shards[shard];
    world_trace("%d starts %zu of shard %u under fence %d, try %d", (int)n->id, o->callback, shard,
                (int)o->fence, (int)o->try_no);
    if (s->owner != n->id || s->fence != o->fence)
        world_found(CHECK_ALONE, "%d starts %zu under fence %d of shard %u: %d has it, under %d",
                    (int)n->id, o->callback, (int)o->fence, shard, (int)s->owner, (int)s->fence);
    if (database_lease_left(n->id) <= 0)
        world_found(CHECK_LEASE, "%d starts %zu: its lease is over, others may claim shard %u",
                    (int)n->id, o->callback, shard);
    if (c->state == DONE)
        world_found(CHECK_FINAL, "%d starts %zu, which is done", (int)n->id, o->callback);
}

void checks_storing(const struct outcome *o)
{
    uint32_t shard = shard_of_lane(w.db.callbacks[o->callback].lane);
    if (o->claims != w.db.claims[shard])
        world_found(CHECK_FENCED, "the outcome of %zu is stored: shard %u was claimed since",
                    o->callback, shard);
}

/* A drain begins behind the last start. */
void checks_releasing(const struct node *n, const struct shards_todo *todo)
{
    for (size_t i = 0; i < todo->releases; i++) {
        uint16_t shard = todo->release[i];
        int busy = atomic_load(&n->leases.busy[shard]);
        if (busy > 0 && node_mono(n) - n->started_mono_ms[shard] < SHARD_DRAIN_MS)
            world_found(CHECK_DRAINED, "%d releases shard %u with %d under way", (int)n->id, shard,
                        busy);
    }
}

/* --- once all is calm ------------------------------------------------------------------------- */

/* What waits, though somebody who lives was told of it or ought to have found it. */
static void check_late(void)
{
    for (size_t i = 0; i < w.db.callback_count; i++) {
        const struct callback *c = &w.db.callbacks[i];
        if (c->state == DONE)
            continue;
        if (w.now_ms > w.calm_ms + LOST_MS)
            world_found(CHECK_LOST, "%zu of shard %u is not tried, %d s after calm", i,
                        shard_of_lane(c->lane), (int)((w.now_ms - w.calm_ms) / SECOND));
        else if (!c->untold && w.now_ms > w.calm_ms + LATE_MS && w.now_ms > c->due_ms + LATE_DUE_MS)
            world_found(CHECK_LATE, "%zu of shard %u is not tried, %d s after calm", i,
                        shard_of_lane(c->lane), (int)((w.now_ms - w.calm_ms) / SECOND));
    }
}

static void check_even(void)
{
    int32_t sum = 0, least = SHARDS, most = 0;
    for (size_t i = 0; i < w.node_count; i++) {
        const struct node *n = w.nodes[i];
        int32_t has = 0;
        if (!n->alive)
            continue;
        for (size_t s = 0; s < SHARDS; s++) {
            const struct shard_hold *hold = &n->member.holds[s];
            has += w.db.shards[s].owner == n->id && hold->state == SHARD_HELD &&
                   hold->fence == w.db.shards[s].fence;
        }
        sum += has;
        least = has < least ? has : least;
        most = has > most ? has : most;
    }
    if (sum != SHARDS || most - least > 1)
        world_found(CHECK_EVEN, "%d of %d shards are held, %d to %d by one node", (int)sum, SHARDS,
                    (int)least, (int)most);
}

void checks_calm(void)
{
    check_late();
    if (w.now_ms > w.calm_ms + SETTLED_MS)
        check_even();
}

bool checks_all_done(void)
{
    for (size_t i = 0; i < w.db.callback_count; i++)
        if (w.db.callbacks[i].state != DONE)
            return false;
    return w.now_ms > w.calm_ms + SETTLED_MS + 8 * SECOND;
}
