/* Which node delivers which apps where several nodes share one database: decisions without a clock,
 * a syscall or a database.
 *
 * Every app, with all of its lanes, belongs to one of SHARDS shards for ever; a shard belongs to
 * one node at a time. The database keeps for each node the end of its lease, by the database's
 * clock, and for each shard its owner and its fence: a number that grows with each claim. Callers
 * (store/postgresql/nodes.c, a simulator) must follow these rules:
 * - A shard is free if it has no owner, or its owner's lease has ended.
 * - A claim succeeds only if the shard is still free and has the fence that the decision was made
 *   by; it increments the fence. A release compares the fence, too, and leaves it as it is. Nothing
 *   else changes a fence.
 * - Claims and the renewals of the shards' owners exclude each other. A claim sees the lease of a
 *   renewal that came first; a renewal that came later reads the shards after the claim. Otherwise
 *   a late renewal could succeed beside a claim, and both nodes would believe to hold the shards.
 * - A node writes as an owner only if the shard's fence, read in the same transaction, is the one
 *   that it had when the node read what it decides about. Claims and such transactions exclude each
 *   other.
 *
 * So a node that was stopped for any time writes nothing once another has claimed its shards. These
 * rules alone make the result correct; everything below makes shards move early and evenly, and
 * avoids duplicate attempts. Every node decides for itself by the same table, and all come to the
 * same result. What a node's delivery threads ask are its leases: store/leases.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARDS 256 /* stored: never change it */
#define NODES_MOST 100

/* How long a lease lasts from its last renewal; how often it is renewed; how long before its end a
 * node stops starting exchanges; how long a draining shard waits for its exchanges. */
#define NODE_LEASE_MS 6000
#define NODE_RENEW_MS 1000
#define NODE_MARGIN_MS 1500
#define SHARD_DRAIN_MS 5000
/* How long a node that is back from an outage leaves the other nodes' shards to them: until each
 * has tried again to connect (store/postgresql/nodes.h). */
#define NODE_OTHERS_BACK_MS 8000

uint32_t shard_of_app(uint32_t app_no);

/* --- what one transaction saw ------------------------------------------------------------------
 */

struct shard_seen {
    uint64_t owner; /* a node whose lease has not ended; 0: the shard is free */
    int64_t fence;
};

struct shards_seen {
    /* Nodes whose lease has not ended and that are not leaving, ascending, at most NODES_MOST. */
    const uint64_t *nodes;
    size_t node_count;
    struct shard_seen shards[SHARDS];
    /* Free shards that have an owner, whose lease has ended, but whose process may still run. */
    bool lapsed[SHARDS];
};

/* --- one node ----------------------------------------------------------------------------------
 */

enum shard_state {
    SHARD_ELSEWHERE, /* another node's, or free */
    SHARD_HELD,
    SHARD_DRAINING, /* still this node's: starts no exchanges, waits for those under way */
};

struct shard_hold {
    enum shard_state state;
    int64_t fence; /* the fence that it is held or drained under */
    int64_t drain_mono_ms;
};

struct member {
    uint64_t self; /* never 0; new at every start of the process */
    bool leaving;  /* gives all its shards up */
    /* When the last successful renewal was sent: the lease lasts from then at least. */
    bool renewed;
    int64_t renewed_mono_ms;
    /* Until then, lapsed shards are left to their owners. */
    int64_t others_back_mono_ms;
    struct shard_hold holds[SHARDS];
};

struct shards_todo {
    /* Shards to claim, each only if it still has the fence beside it. */
    uint16_t claim[SHARDS];
    int64_t claim_fence[SHARDS];
    size_t claims;
    uint16_t release[SHARDS];
    size_t releases;
    /* Shards that this look has found lost to other nodes, and shards that begin to drain. */
    size_t lost, drained;
};

void member_init(struct member *m, uint64_t self);
/* A renewal has succeeded: when it was sent, and the present time. If the lease had ended, the
 * database may have been away for all nodes, and the first node that is back must not claim the
 * shards of all others: their outcomes in memory would be refused, and their callbacks sent again.
 * So this node claims no lapsed shard for NODE_OTHERS_BACK_MS. */
void member_renewed(struct member *m, int64_t sent_mono_ms, int64_t mono_ms);
/* True during that time. */
bool member_awaits_others(const struct member *m, int64_t mono_ms);
/* Takes in what a successful renewal saw (or a read right after it), and says what to do next.
 * busy: per shard, exchanges of this node that are under way or whose outcome is not durable. */
void member_look(struct member *m, const struct shards_seen *seen, const int32_t *busy,
                 int64_t mono_ms, struct shards_todo *ret);
/* A claim or a release has succeeded. */
void member_claimed(struct member *m, uint32_t shard, int64_t fence);
void member_released(struct member *m, uint32_t shard);
/* True if a draining shard has become idle, so that a look would release it. */
bool member_can_release(const struct member *m, const int32_t *busy, int64_t mono_ms);

/* Until when (monotonic) exchanges may start; INT64_MIN before the first renewal. */
int64_t member_may_start_until(const struct member *m);
size_t member_held(const struct member *m); /* shards held and not draining */
