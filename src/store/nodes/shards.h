/* Who delivers what, where several nodes share one database: decisions without a clock, a syscall
 * or a database.
 *
 * Every app, with all of its lanes, belongs to one of SHARDS shards for ever; a shard belongs to
 * one node at a time. The database keeps of each node until when its lease runs, by the database's
 * clock, and of each shard its owner and its fence: a number that grows with each claim. Rules that
 * whoever keeps them (store/postgresql/nodes.c, a simulator) must follow:
 *
 *   - A shard is free when it has no owner, or its owner has no lease that still runs.
 *   - A claim succeeds only where the shard is still free and its fence is still the one that the
 *     decision was made by; it makes it one greater. A release compares the fence, too,
 *     and leaves it as it is. Nothing else changes it.
 *   - Whatever a node writes as an owner is written only where the shard's fence, looked at in the
 *     same transaction, is the one that it had when it read what it decides about; a claim waits
 *     for such transactions, or they for it.
 *
 * So a node that was stopped for however long writes nothing once somebody has followed it. That
 * alone makes it right; everything below is about moving early, evenly and without trying callbacks
 * twice. Every node decides for itself by the same table, and all come to the same. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARDS 256 /* stored: never to be changed */
#define NODES_MOST 100

/* How long a lease runs from the last renewal; how often it is renewed; how long before its end a
 * node starts nothing more; how long a shard that moves waits for what is under way in it. */
#define NODE_LEASE_MS 6000
#define NODE_RENEW_MS 1000
#define NODE_MARGIN_MS 1500
#define SHARD_DRAIN_MS 5000

uint32_t shard_of_app(uint32_t app_no);

/* --- what one transaction saw ------------------------------------------------------------------
 */

struct shard_seen {
    uint64_t owner; /* a node whose lease runs; 0: the shard is free */
    int64_t fence;
};

struct shards_seen {
    /* Nodes whose lease runs and that are not about to leave, ascending, NODES_MOST at most. */
    const uint64_t *nodes;
    size_t node_count;
    struct shard_seen shards[SHARDS];
};

/* --- one node ----------------------------------------------------------------------------------
 */

enum shard_state {
    SHARD_ELSEWHERE, /* another's, or nobody's */
    SHARD_HELD,
    SHARD_DRAINING, /* still this node's: starts nothing, waits for what is under way */
};

struct shard_hold {
    enum shard_state state;
    int64_t fence; /* under which it is held or draining */
    int64_t drain_mono_ms;
};

struct member {
    uint64_t self; /* never 0; another one with every start of the process */
    bool leaving;  /* wants to give everything up */
    /* When the last renewal that came through was sent: the lease runs from then on at least. */
    bool renewed;
    int64_t renewed_mono_ms;
    struct shard_hold holds[SHARDS];
};

struct shards_todo {
    /* To be claimed, each only where its fence still is the one beside it. */
    uint16_t claim[SHARDS];
    int64_t claim_fence[SHARDS];
    size_t claims;
    uint16_t release[SHARDS];
    size_t releases;
    /* What this look changed already: shards that were taken over by others (or whose claim was in
     * doubt and is known now), and those that began to drain. */
    size_t lost, drained;
    bool changed; /* any hold */
};

void member_init(struct member *m, uint64_t self);
/* A renewal came through that was sent then. */
void member_renewed(struct member *m, int64_t sent_mono_ms);
/* Takes in what was seen by (or right after) a renewal that came through, and says what to do next.
 * busy: per shard, exchanges of this node that are under way or whose outcome is not durable. */
void member_look(struct member *m, const struct shards_seen *seen, const int32_t *busy,
                 int64_t mono_ms, struct shards_todo *ret);
/* A claim came through, or a release. */
void member_claimed(struct member *m, uint32_t shard, int64_t fence);
void member_released(struct member *m, uint32_t shard);
/* Whether any draining shard is done with by now, so that a look would release something. */
bool member_can_release(const struct member *m, const int32_t *busy, int64_t mono_ms);

/* Until when (monotonic) exchanges may be started; INT64_MIN: never yet. */
int64_t member_may_start_until(const struct member *m);
/* The fence under which exchanges of a shard may be started now; 0: none may. */
int64_t member_start_fence(const struct member *m, uint32_t shard, int64_t mono_ms);
size_t member_held(const struct member *m); /* shards held and not draining */
