/* Shards among nodes: evenly, few moves, nobody's for long, and nothing written under a lost one.
 * A table in memory stands for the database; nodes look at it in a random order. */
#include "store/leases.h"

#include "base/check.h"
#include "base/env.h"

#include "check.h"

#include <stdlib.h>

#define NODES 20

struct node {
    struct member m;
    struct leases leases;
    bool alive, stopped;
    bool known_gone;     /* the others know that its process has ended */
    int64_t lease_until; /* by the table's clock */
    int32_t busy[SHARDS];
};

static struct world {
    struct rng rng;
    int64_t now; /* the table's clock */
    struct shard_seen shards[SHARDS];
    struct node nodes[NODES];
    int64_t moves;
} w;

static void begin(uint64_t seed)
{
    memset(&w, 0, sizeof w);
    rng_seed(&w.rng, seed);
    w.now = 1000000;
}

static struct node *join(size_t at)
{
    w.nodes[at] = (struct node){.alive = true};
    member_init(&w.nodes[at].m, 1000 * (uint64_t)w.now + at + 1); /* another with each start */
    w.nodes[at].leases.looked_until_mono_ms = INT64_MAX;
    return &w.nodes[at];
}

static bool runs(const struct node *n)
{
    return n->m.self && n->lease_until > w.now;
}

static const struct node *owner_of(uint32_t shard)
{
    for (size_t i = 0; i < NODES; i++)
        if (w.shards[shard].owner && w.nodes[i].m.self == w.shards[shard].owner)
            return &w.nodes[i];
    return NULL;
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void see(struct shards_seen *seen, uint64_t nodes[NODES])
{
    *seen = (struct shards_seen){.nodes = nodes};
    for (size_t i = 0; i < NODES; i++)
        if (runs(&w.nodes[i]) && !w.nodes[i].m.leaving)
            nodes[seen->node_count++] = w.nodes[i].m.self;
    qsort(nodes, seen->node_count, sizeof *nodes, compare);
    for (uint32_t i = 0; i < SHARDS; i++) {
        const struct node *owner = owner_of(i);
        seen->shards[i] = w.shards[i];
        seen->lapsed[i] = owner && !runs(owner) && !owner->known_gone;
        if (!owner || !runs(owner))
            seen->shards[i].owner = 0;
    }
}

/* The fence under which exchanges of a shard may start then; 0: none may. */
static int64_t start_fence(struct node *n, uint32_t shard, int64_t mono_ms)
{
    return leases_run(&n->leases, mono_ms) ? atomic_load(&n->leases.fence[shard]) : 0;
}

/* A node's turn, as the store takes it. */
static void turn(struct node *n)
{
    struct shards_seen seen;
    struct shards_todo todo;
    struct leases_published published;
    uint64_t nodes[NODES];
    n->lease_until = w.now + NODE_LEASE_MS;
    member_renewed(&n->m, w.now, w.now);
    see(&seen, nodes);
    member_look(&n->m, &seen, n->busy, w.now, &todo);
    for (size_t i = 0; i < todo.releases; i++) {
        w.shards[todo.release[i]].owner = 0;
        member_released(&n->m, todo.release[i]);
    }
    for (size_t i = 0; i < todo.claims; i++) {
        struct shard_seen *s = &w.shards[todo.claim[i]];
        if (s->fence != todo.claim_fence[i])
            continue;
        *s = (struct shard_seen){n->m.self, s->fence + 1};
        member_claimed(&n->m, todo.claim[i], s->fence);
        w.moves++;
    }
    leases_publish(&n->leases, &n->m, &published);
}

/* Everybody gets a turn within a second, in an order of chance. */
static void second(void)
{
    size_t order[NODES];
    for (size_t i = 0; i < NODES; i++)
        order[i] = i;
    for (size_t i = NODES; i-- > 1;) {
        size_t j = rng_below(&w.rng, i + 1), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    for (size_t i = 0; i < NODES; i++) {
        w.now += 1000 / NODES;
        struct node *n = &w.nodes[order[i]];
        if (n->alive && !n->stopped)
            turn(n);
    }
}

static void seconds(int n)
{
    while (n-- > 0)
        second();
}

static int32_t owned_by(const struct node *n)
{
    int32_t count = 0;
    for (size_t i = 0; i < SHARDS; i++)
        count += w.shards[i].owner == n->m.self;
    return count;
}

/* All shards belong to those who live, as many to each, one more or less. */
static bool is_even(size_t lives)
{
    int32_t sum = 0, least = SHARDS, most = 0;
    for (size_t i = 0; i < NODES; i++) {
        const struct node *n = &w.nodes[i];
        if (!n->alive || n->stopped || n->m.leaving)
            continue;
        int32_t has = owned_by(n);
        if (has != (int32_t)member_held(&n->m))
            return false;
        sum += has;
        least = has < least ? has : least;
        most = has > most ? has : most;
    }
    return sum == SHARDS && most - least <= 1 && (lives == 0 || least == SHARDS / (int32_t)lives);
}

static void one_has_all(void)
{
    begin(1);
    turn(join(0));
    CHECK_EQ_INT(owned_by(&w.nodes[0]), SHARDS);
    CHECK_EQ_INT(w.nodes[0].m.holds[7].fence, 1);
    CHECK_EQ_INT(start_fence(&w.nodes[0], 7, w.now), 1);
}

static void those_who_join_get_their_share_and_no_more_moves(void)
{
    begin(2);
    for (size_t n = 1; n <= NODES; n++) {
        int64_t before = w.moves;
        join(n - 1);
        seconds(6);
        if (!CHECK(is_even(n)))
            printf("    %zu nodes\n", n);
        /* Only what the new one is to have. */
        CHECK(w.moves - before <= SHARDS / (int64_t)n + 1);
        before = w.moves;
        seconds(5);
        CHECK_EQ_INT(w.moves, before);
    }
}

static void a_dead_ones_shards_move_within_its_lease(void)
{
    begin(3);
    for (size_t i = 0; i < 5; i++)
        join(i);
    seconds(6);
    CHECK(is_even(5));
    int64_t before = w.moves;
    int32_t had = owned_by(&w.nodes[2]);
    w.nodes[2].alive = false;
    seconds(NODE_LEASE_MS / 1000 - 2);
    CHECK_EQ_INT(w.moves, before); /* it may be back yet */
    seconds(6);
    CHECK(is_even(4));
    CHECK_EQ_INT(w.moves - before, had);
}

static void a_graceful_stop_waits_for_what_is_under_way(void)
{
    begin(4);
    for (size_t i = 0; i < 3; i++)
        join(i);
    seconds(6);
    struct node *n = &w.nodes[1];
    uint32_t busy_shard = 0;
    while (n->m.holds[busy_shard].state != SHARD_HELD)
        busy_shard++;
    n->busy[busy_shard] = 1;
    n->m.leaving = true;
    seconds(3);
    CHECK_EQ_INT(owned_by(n), 1);
    CHECK_EQ_INT(start_fence(n, busy_shard, w.now), 0);
    CHECK_EQ_INT(w.shards[busy_shard].fence, n->m.holds[busy_shard].fence); /* may be recorded */
    n->busy[busy_shard] = 0;
    CHECK(member_can_release(&n->m, n->busy, w.now));
    seconds(2);
    CHECK_EQ_INT(owned_by(n), 0);
    CHECK(is_even(2));
    n->busy[3] = 1; /* holds nothing: bothers nobody */
    CHECK(!member_can_release(&n->m, n->busy, w.now));
}

static void a_shard_that_does_not_drain_moves_at_last(void)
{
    begin(5);
    join(0);
    seconds(1);
    for (size_t i = 0; i < SHARDS; i++)
        w.nodes[0].busy[i] = 1;
    join(1);
    seconds(3);
    CHECK_EQ_INT(owned_by(&w.nodes[1]), 0);
    seconds(SHARD_DRAIN_MS / 1000);
    CHECK(is_even(2));
}

static void who_was_stopped_starts_nothing_and_knows_at_its_next_look(void)
{
    begin(6);
    join(0);
    join(1);
    seconds(6);
    struct node *n = &w.nodes[0];
    uint32_t shard = 0;
    while (n->m.holds[shard].state != SHARD_HELD)
        shard++;
    int64_t fence = n->m.holds[shard].fence;
    n->stopped = true;
    CHECK(start_fence(n, shard, n->m.renewed_mono_ms + 1) == fence);
    CHECK_EQ_INT(start_fence(n, shard, member_may_start_until(&n->m)), 0);
    CHECK(member_may_start_until(&n->m) < n->m.renewed_mono_ms + NODE_LEASE_MS);
    seconds(NODE_LEASE_MS / 1000 + 2);
    CHECK_EQ_INT(owned_by(&w.nodes[1]), SHARDS);
    CHECK(w.shards[shard].fence > fence); /* whatever it writes now is refused */
    n->stopped = false;
    turn(n);
    CHECK_EQ_UINT(member_held(&n->m), 0);
    seconds(6);
    CHECK(is_even(2));
}

/* Three nodes that have shared the shards, and then no database for longer than a lease. */
static void begin_with_an_outage(uint64_t seed)
{
    begin(seed);
    for (size_t i = 0; i < 3; i++)
        join(i);
    seconds(6);
    CHECK(is_even(3));
    w.now += 2 * NODE_LEASE_MS;
}

static void after_an_outage_all_nodes_keep_their_shards(void)
{
    begin_with_an_outage(9);
    int64_t before = w.moves;
    int64_t fence = w.shards[5].fence;
    turn(&w.nodes[0]); /* the first that is back, and some seconds before the others */
    w.now += NODE_RENEW_MS;
    turn(&w.nodes[0]);
    w.now += NODE_RENEW_MS;
    seconds(10);
    CHECK_EQ_INT(w.moves, before);
    CHECK_EQ_INT(w.shards[5].fence, fence);
    CHECK(is_even(3));
}

static void a_node_that_is_not_back_after_an_outage_loses_its_shards(void)
{
    begin_with_an_outage(10);
    int64_t before = w.moves;
    int32_t had = owned_by(&w.nodes[2]);
    w.nodes[2].stopped = true;
    turn(&w.nodes[0]);
    turn(&w.nodes[1]);
    for (int waited = 0; waited < NODE_OTHERS_BACK_MS; waited += NODE_RENEW_MS) {
        CHECK_EQ_INT(w.moves, before);
        w.now += NODE_RENEW_MS - (waited == 0);
        turn(&w.nodes[0]);
        turn(&w.nodes[1]);
    }
    CHECK_EQ_INT(w.moves, before);
    w.now++;
    turn(&w.nodes[0]);
    turn(&w.nodes[1]);
    CHECK_EQ_INT(w.moves - before, had);
    CHECK(is_even(2));
}

/* Nothing of theirs can be refused. */
static void after_an_outage_dead_nodes_are_not_waited_for(void)
{
    begin_with_an_outage(11);
    w.nodes[1].alive = false;
    w.nodes[1].known_gone = true;
    int32_t had = owned_by(&w.nodes[1]);
    int64_t before = w.moves;
    turn(&w.nodes[0]);
    CHECK_EQ_INT(w.moves - before, had);
    w.nodes[2].m.leaving = true; /* gives its shards up when it is back */
    turn(&w.nodes[2]);
    turn(&w.nodes[2]);
    turn(&w.nodes[0]);
    CHECK_EQ_INT(owned_by(&w.nodes[0]), SHARDS);
}

static void a_node_that_starts_waits_for_nobody(void)
{
    begin_with_an_outage(12);
    turn(join(3));
    CHECK_EQ_INT(owned_by(&w.nodes[3]), SHARDS);
}

/* Whatever has become of it meanwhile: what it starts from then on is under the present fence. */
static void a_shard_that_was_claimed_anew_has_its_new_fence(void)
{
    begin(8);
    struct node *n = join(0);
    seconds(2);
    int64_t fence = n->m.holds[3].fence;
    CHECK(n->m.holds[3].state == SHARD_HELD && fence == w.shards[3].fence);
    w.shards[3].fence += 2; /* another had it and it came back */
    turn(n);
    CHECK_EQ_INT(n->m.holds[3].fence, fence + 2);
    CHECK_EQ_INT(start_fence(n, 3, n->m.renewed_mono_ms + 1), fence + 2);
}

static void doubtful_commits_are_known_at_the_next_look(void)
{
    begin(7);
    struct node *n = join(0);
    seconds(1);
    struct member before = n->m;
    for (size_t i = 0; i < SHARDS; i++) /* a claim that came through, and nobody said so */
        member_released(&n->m, (uint32_t)i);
    seconds(1);
    CHECK_EQ_UINT(member_held(&n->m), SHARDS);
    CHECK_EQ_INT(n->m.holds[9].fence, before.holds[9].fence);
    w.shards[9].owner = 0; /* a release of which the same is true */
    seconds(2);
    CHECK_EQ_INT(w.shards[9].fence, before.holds[9].fence + 1);
    CHECK_EQ_INT(n->m.holds[9].fence, w.shards[9].fence);
}

/* Whoever may start something in a shard is alone: nobody else may, whatever stops and starts. */
static bool starters_are_alone(void)
{
    for (uint32_t i = 0; i < SHARDS; i++) {
        int starters = 0;
        for (size_t n = 0; n < NODES; n++) {
            struct node *node = &w.nodes[n];
            if (!node->m.self || !node->alive)
                continue;
            int64_t fence = start_fence(node, i, w.now);
            starters += fence != 0;
            if (fence > w.shards[i].fence)
                return false;
        }
        if (starters > 1)
            return false;
    }
    return true;
}

static void chance(uint64_t seed)
{
    begin(seed);
    size_t most = 2 + rng_below(&w.rng, NODES - 1);
    for (int s = 0; s < 120; s++) {
        struct node *n = &w.nodes[rng_below(&w.rng, most)];
        switch (rng_below(&w.rng, 8)) {
        case 0: n->alive = false; break;
        case 1: n->stopped = !n->stopped; break;
        case 2: n->m.leaving |= n->m.self != 0; break;
        case 3:
        case 4:
            if (!n->alive || n->m.leaving)
                join((size_t)(n - w.nodes));
            break;
        default: break;
        }
        for (size_t i = 0; n->m.self && i < SHARDS; i++)
            n->busy[i] = (int32_t)rng_below(&w.rng, 2);
        second();
        if (!CHECK(starters_are_alone())) {
            printf("    seed %d, second %d\n", (int)seed, s);
            return;
        }
    }
    for (size_t i = 0; i < most; i++) {
        w.nodes[i].stopped = false;
        if (!w.nodes[i].alive || w.nodes[i].m.leaving)
            join(i);
        memset(w.nodes[i].busy, 0, sizeof w.nodes[i].busy);
    }
    seconds(NODE_LEASE_MS / 1000 + 8);
    if (!CHECK(is_even(most)))
        printf("    seed %d, %zu nodes\n", (int)seed, most);
}

static void all_is_well_whatever_happens(void)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        chance(seed);
}

static void apps_are_spread(void)
{
    int32_t count[SHARDS] = {0}, least = INT32_MAX, most = 0;
    for (uint32_t app = 1; app <= SHARDS * 100; app++)
        count[shard_of_app(app)]++;
    for (size_t i = 0; i < SHARDS; i++) {
        least = count[i] < least ? count[i] : least;
        most = count[i] > most ? count[i] : most;
    }
    CHECK(least > 50 && most < 150);
    CHECK_EQ_UINT(shard_of_app(1), 34); /* for ever */
    CHECK_EQ_UINT(shard_of_app(4711), 44);
}

int main(void)
{
    RUN(one_has_all);
    RUN(those_who_join_get_their_share_and_no_more_moves);
    RUN(a_dead_ones_shards_move_within_its_lease);
    RUN(a_graceful_stop_waits_for_what_is_under_way);
    RUN(a_shard_that_does_not_drain_moves_at_last);
    RUN(who_was_stopped_starts_nothing_and_knows_at_its_next_look);
    RUN(after_an_outage_all_nodes_keep_their_shards);
    RUN(a_node_that_is_not_back_after_an_outage_loses_its_shards);
    RUN(after_an_outage_dead_nodes_are_not_waited_for);
    RUN(a_node_that_starts_waits_for_nobody);
    RUN(a_shard_that_was_claimed_anew_has_its_new_fence);
    RUN(doubtful_commits_are_known_at_the_next_look);
    RUN(all_is_well_whatever_happens);
    RUN(apps_are_spread);
    return check_done("shards");
}
