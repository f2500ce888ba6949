/* Quotas differ by one at most. The larger ones go to the nodes that have most shards already, so
 * that as few shards move as possible. Free shards are dealt out in the order of nodes and of
 * shards: every node knows which are its own, and two that saw the same never want the same one. */
#include "store/nodes/shards.h"

#include "base/check.h"

#include <string.h>

uint32_t shard_of_app(uint32_t app_no)
{
    uint32_t h = app_no * 0x9e3779b1u; /* app numbers are assigned consecutively */
    h ^= h >> 15;
    h *= 0x85ebca77u;
    h ^= h >> 13;
    return h % SHARDS;
}

/* --- quotas ------------------------------------------------------------------------------------
 */

static int32_t count_of(const struct shards_seen *seen, uint64_t node)
{
    int32_t n = 0;
    for (size_t i = 0; i < SHARDS; i++)
        n += seen->shards[i].owner == node;
    return n;
}

/* How many shards a node should have, by what was seen: as many as each other node, plus or minus
 * one. 0 for a node that is not in the list. */
static int32_t shards_quota(const struct shards_seen *seen, uint64_t node)
{
    int32_t mine = count_of(seen, node);
    size_t before = 0;
    bool among = false;
    for (size_t i = 0; i < seen->node_count; i++) {
        uint64_t other = seen->nodes[i];
        int32_t has = count_of(seen, other);
        among |= other == node;
        before += has > mine || (has == mine && other < node);
    }
    if (!among)
        return 0;
    return (int32_t)(SHARDS / seen->node_count + (before < SHARDS % seen->node_count));
}

/* How many shards a node lacks; 0: none. */
static int32_t deficit(const struct shards_seen *seen, uint64_t node)
{
    int32_t lacks = shards_quota(seen, node) - count_of(seen, node);
    return lacks > 0 ? lacks : 0;
}

/* --- one node ----------------------------------------------------------------------------------
 */

void member_init(struct member *m, uint64_t self)
{
    ASSERT(self != 0);
    *m = (struct member){.self = self};
}

void member_renewed(struct member *m, int64_t sent_mono_ms, int64_t mono_ms)
{
    if (m->renewed && mono_ms >= member_may_start_until(m))
        m->others_back_mono_ms = mono_ms + NODE_OTHERS_BACK_MS;
    if (!m->renewed || sent_mono_ms > m->renewed_mono_ms)
        m->renewed_mono_ms = sent_mono_ms;
    m->renewed = true;
}

bool member_awaits_others(const struct member *m, int64_t mono_ms)
{
    return mono_ms < m->others_back_mono_ms;
}

/* The database decides, also about a claim or a release whose commit was in doubt. */
static void take_in(struct member *m, const struct shards_seen *seen, struct shards_todo *todo)
{
    for (uint32_t i = 0; i < SHARDS; i++) {
        struct shard_hold *hold = &m->holds[i];
        bool mine = seen->shards[i].owner == m->self;
        bool held = hold->state != SHARD_ELSEWHERE;
        if (held && (!mine || hold->fence != seen->shards[i].fence)) {
            *hold = (struct shard_hold){0};
            todo->lost++;
            held = false;
        }
        if (mine && !held)
            member_claimed(m, i, seen->shards[i].fence);
    }
}

/* Drains from the last shard down, because free shards are dealt out from the first up. */
static void begin_to_drain(struct member *m, int32_t surplus, int64_t mono_ms,
                           struct shards_todo *todo)
{
    for (uint32_t i = SHARDS; i-- > 0 && surplus > 0;) {
        struct shard_hold *hold = &m->holds[i];
        if (hold->state != SHARD_HELD)
            continue;
        hold->state = SHARD_DRAINING;
        hold->drain_mono_ms = mono_ms;
        todo->drained++;
        surplus--;
    }
}

static void claim_own(const struct member *m, const struct shards_seen *seen, int64_t mono_ms,
                      struct shards_todo *todo)
{
    bool awaits = member_awaits_others(m, mono_ms);
    int32_t skip = 0;
    int32_t want = deficit(seen, m->self);
    for (size_t i = 0; i < seen->node_count; i++)
        if (seen->nodes[i] < m->self)
            skip += deficit(seen, seen->nodes[i]);
    for (uint16_t i = 0; i < SHARDS && want > 0; i++) {
        if (seen->shards[i].owner != 0 || (awaits && seen->lapsed[i]) || skip-- > 0)
            continue;
        todo->claim[todo->claims] = i;
        todo->claim_fence[todo->claims++] = seen->shards[i].fence;
        want--;
    }
}

static bool is_drained(const struct shard_hold *hold, int32_t busy, int64_t mono_ms)
{
    return hold->state == SHARD_DRAINING &&
           (busy == 0 || mono_ms - hold->drain_mono_ms >= SHARD_DRAIN_MS);
}

void member_look(struct member *m, const struct shards_seen *seen, const int32_t *busy,
                 int64_t mono_ms, struct shards_todo *ret)
{
    ASSERT(seen->node_count <= NODES_MOST);
    memset(ret, 0, sizeof *ret);
    take_in(m, seen, ret);
    /* Shards that begin to drain in this look are tested in the next one: exchanges must not start
     * any more when `busy` is counted. */
    for (uint16_t i = 0; i < SHARDS; i++)
        if (is_drained(&m->holds[i], busy[i], mono_ms))
            ret->release[ret->releases++] = i;
    int32_t quota = m->leaving ? 0 : shards_quota(seen, m->self);
    begin_to_drain(m, (int32_t)member_held(m) - quota, mono_ms, ret);
    if (!m->leaving)
        claim_own(m, seen, mono_ms, ret);
}

void member_claimed(struct member *m, uint32_t shard, int64_t fence)
{
    ASSERT(shard < SHARDS && fence > 0);
    m->holds[shard] = (struct shard_hold){.state = SHARD_HELD, .fence = fence};
}

void member_released(struct member *m, uint32_t shard)
{
    ASSERT(shard < SHARDS);
    m->holds[shard] = (struct shard_hold){0};
}

bool member_can_release(const struct member *m, const int32_t *busy, int64_t mono_ms)
{
    for (size_t i = 0; i < SHARDS; i++)
        if (is_drained(&m->holds[i], busy[i], mono_ms))
            return true;
    return false;
}

int64_t member_may_start_until(const struct member *m)
{
    return m->renewed ? m->renewed_mono_ms + NODE_LEASE_MS - NODE_MARGIN_MS : INT64_MIN;
}

size_t member_held(const struct member *m)
{
    size_t n = 0;
    for (size_t i = 0; i < SHARDS; i++)
        n += m->holds[i].state == SHARD_HELD;
    return n;
}
