/* What must add up, looked at from time to time: memory, the ledger, statements. */
#include "sim.h"

#include "base/limits.h"
#include "domain/clock.h"

#include <stdlib.h>

/* --- memory -----------------------------------------------------------------------------------
 */

struct memory_sum {
    struct sim *sim;
    int64_t in_ram;
};

static void add_lane(void *context, struct hash_node *node)
{
    struct memory_sum *sum = context;
    const struct lane *lane = CONTAINER_OF(node, struct lane, node);
    unsigned long long no = lane->no;
    sum->in_ram += lane->in_ram;
    if (lane->in_ram > LIMIT_LANE_CALLBACKS_IN_RAM)
        sim_found(sum->sim, CHECK_MEMORY, "lane %llu has %d callbacks in memory", no, lane->in_ram);
    if (lane->turn.is_touched) /* about to be looked at */
        return;
    if (lane->window.suspended && lane->in_ram > lane->in_flight + 1)
        sim_found(sum->sim, CHECK_MEMORY, "lane %llu is suspended and holds %d, %d under way", no,
                  lane->in_ram, lane->in_flight);
}

/* What waits is in the store: memory holds no more than the bounds say, and of a lane that is shut
 * next to nothing. */
void checks_memory(struct sim *sim)
{
    for (size_t i = 0; i < sim->loop_count; i++) {
        struct dispatcher *d = sim->delivery->dispatchers[i];
        struct memory_sum sum = {.sim = sim};
        hash_map_visit(&d->lanes, add_lane, &sum);
        if (sum.in_ram != d->shared.in_ram || sum.in_ram > d->room.total)
            sim_found(sim, CHECK_MEMORY, "loop %zu holds %lld callbacks, counts %lld, may %lld", i,
                      (long long)sum.in_ram, (long long)d->shared.in_ram, (long long)d->room.total);
    }
}

/* --- books ------------------------------------------------------------------------------------
 */

static void run_nothing(struct task *task)
{
    (void)task;
}

static void post_nowhere(struct executor *executor, struct task *task)
{
    (void)executor;
    (void)task;
}

/* The ledger, kept move by move through crashes and resends, against what there is at the end. */
void checks_books(struct sim *sim)
{
    struct executor nobody = {post_nowhere}; /* the oracle answers before it returns */
    for (uint32_t account = 1; account <= sim->shard_count; account++) {
        struct books_check c = {.done.run = run_nothing,
                                .reply_to = &nobody,
                                .from_day = INT32_MIN,
                                .callbacks_most = INT64_MAX};
        do {
            c.after_account_no = c.last_account_no;
            c.after_day = c.last_day;
            store_check_books(sim->shards[account - 1].store, &c);
            if (c.difference_total > 0)
                sim_found(sim, CHECK_BOOKS,
                          "account %u app %u day %d state %s: %lld in the ledger, %lld events",
                          account, c.differences[0].app_no, c.differences[0].day,
                          callback_state_name(c.differences[0].state),
                          (long long)c.differences[0].ledger.count,
                          (long long)c.differences[0].found.count);
            free(c.differences);
        } while (c.more);
    }
}

/* --- statements -------------------------------------------------------------------------------
 */

/* Of one account and day: what partners are told, against what was seen to become of each. */
static void check_statement(struct sim *sim, uint32_t account_no, int32_t day)
{
    struct executor nobody = {post_nowhere};
    struct statement_query q = {
        .done.run = run_nothing, .reply_to = &nobody, .account_no = account_no, .day = day};
    int64_t told[CALLBACK_SKIPPED + 1] = {0}, seen[CALLBACK_SKIPPED + 1] = {0};
    store_statement(sim->shards[account_no - 1].store, &q);
    for (size_t i = 0; i < q.count; i++)
        for (int type = 0; type <= EVENT_TYPE_LAST; type++)
            for (int state = 0; state <= CALLBACK_SKIPPED; state++)
                told[state] += q.apps[i].sums[type][state].count;
    free(q.apps);
    const struct shard *shard = &sim->shards[account_no - 1];
    for (size_t i = 0; i < shard->count; i++)
        if (clock_day(late_store_entry(sim, account_no, i + 1)->event.occurred_ms) == day)
            seen[shard->witnesses[i].state]++;
    for (int state = 0; state <= CALLBACK_SKIPPED; state++)
        if (told[state] != seen[state])
            sim_found(sim, CHECK_STATEMENT, "account %u day %d: %lld stated as %s, %lld seen",
                      account_no, day, (long long)told[state],
                      callback_state_name((enum callback_state)state), (long long)seen[state]);
}

void checks_statements(struct sim *sim)
{
    for (uint32_t account = 1; account <= sim->shard_count; account++) {
        int32_t done = INT32_MIN;
        for (size_t i = 0; i < sim->shards[account - 1].count; i++) {
            int32_t day = clock_day(late_store_entry(sim, account, i + 1)->event.occurred_ms);
            if (day > done)
                check_statement(sim, account, day);
            done = day > done ? day : done;
        }
    }
}
