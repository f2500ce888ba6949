/* Partners that are all down for hours or days under load, beside healthy ones, and come back. What
 * has to hold beyond what is always looked at: what waited is tried oldest due first (checks.c) and
 * is gone from the store soon, and the healthy ones' events take no longer than before. */
#include "sim.h"

#include "base/alloc.h"

#define HEALTHY_ONE_IN 10
#define HEALTHY_EVENTS_ONE_IN 4
#define WARM_MS (10 * MINUTE)
#define AFTER_MS (20 * MINUTE) /* the load goes on for as long after they are back */
#define DRAIN_STEP_MS (10 * SECOND)
#define EVENTS 500000 /* of the partners that go down */

struct plan outage_plan(uint64_t seed)
{
    return (struct plan){.outage_partners = 10 + (uint32_t)(seed / 50 % 10),
                         .down_ms = (int64_t)(1 + seed / 50 % 3) * HOUR / 2,
                         .event_every_ms = 15 * SECOND};
}

struct plan outage_plan_of(uint32_t partners, int64_t hours)
{
    int64_t whole_ms = WARM_MS + hours * HOUR + AFTER_MS;
    return (struct plan){.outage_partners = partners,
                         .down_ms = hours * HOUR,
                         .event_every_ms = SECOND + whole_ms * partners / EVENTS};
}

void outage_choose(struct sim *sim)
{
    const char *why;
    uint32_t partners = sim->plan.outage_partners;
    sim->loop_count = 1 + (size_t)sim_below(sim, SIM_LOOPS_MAX);
    sim->app_count = partners + partners / HEALTHY_ONE_IN;
    sim->host_count = sim->app_count;
    sim->hosts = xcalloc(sim->host_count, sizeof(struct host));
    sim->choices = xcalloc(sim->app_count, sizeof(struct app_choice));
    for (uint32_t i = 0; i < sim->app_count; i++) {
        struct app_choice *c = &sim->choices[i];
        *c = (struct app_choice){.enabled = true,
                                 .steady = i >= partners,
                                 .max_concurrency = 32,
                                 .timeout_ms = 10 * SECOND};
        for (int k = LANE_SUCCESS; k < LANE_KINDS; k++)
            c->host[k] = (int)i;
    }
    bool good = schedule_parse(str_of(SCHEDULE_DEFAULT), &sim->schedule, &why);
    ASSERT(good);
    sim->wait_bound_ms = 1 * SECOND;
    sim->late.most_ms = 0; /* set once the store is open */
}

static uint32_t some_app(struct sim *sim)
{
    uint32_t partners = sim->plan.outage_partners;
    return sim_chance(sim, HEALTHY_EVENTS_ONE_IN)
               ? partners + 1 + (uint32_t)sim_below(sim, sim->app_count - partners)
               : 1 + (uint32_t)sim_below(sim, partners);
}

static void load(struct sim *sim, int64_t for_ms)
{
    int64_t until_ms = sim->mono_ms + for_ms;
    int64_t most_ms = 2 * sim->plan.event_every_ms * (HEALTHY_EVENTS_ONE_IN - 1) /
                      HEALTHY_EVENTS_ONE_IN / sim->plan.outage_partners;
    for (int64_t n = 0; sim->mono_ms < until_ms && !sim->failed; n++) {
        scenario_event(sim, some_app(sim), true);
        sim_run(sim, sim_below(sim, most_ms + 1));
        if (n % 10000 == 0)
            checks_memory(sim);
    }
}

static void behave_all(struct sim *sim, bool up)
{
    static const enum behaviour down[] = {HOST_DOWN, HOST_HANGING, HOST_ERROR, HOST_NO_CONNECTION};
    for (uint32_t i = 0; i < sim->plan.outage_partners; i++)
        sim->hosts[i].behaviour = up ? HOST_UP : down[i % ARRAY_LEN(down)];
}

/* Of what was due when they came back: the rest has its retries still to come. */
static int64_t count_overdue(struct sim *sim)
{
    int64_t count = 0;
    for (uint32_t account = 1; account <= sim->shard_count; account++) {
        const struct memory_store *m = memory_of(sim->shards[account - 1].store);
        for (size_t i = 0; i < m->waiting_count; i++)
            count += m->waiting[i].due_ms < sim->returned_ms;
    }
    return count;
}

static void drain(struct sim *sim)
{
    int64_t began_ms = sim->mono_ms, left = count_overdue(sim);
    sim->overdue = left;
    while (left > 0 && !sim->failed && sim->mono_ms - began_ms < AFTER_MS) {
        load(sim, DRAIN_STEP_MS);
        left = count_overdue(sim);
    }
    sim->drained_ms = sim->mono_ms - began_ms;
    if (left > 0)
        sim_found(sim, CHECK_ORDER, "%lld overdue callbacks still wait %lld s after the outage",
                  (long long)left, (long long)(sim->drained_ms / SECOND));
}

void outage_measure(struct sim *sim, const struct ending *e)
{
    const struct witness *w = sim_witness(sim, e->account_no, e->event_no);
    if (!w->steady || !e->is_good || sim->plan.outage_partners == 0)
        return;
    int64_t took_ms = sim->mono_ms - w->accepted_mono_ms;
    struct latencies *l = &sim->latencies[sim->part];
    l->of_ms[took_ms < LATENCY_MOST_MS ? took_ms : LATENCY_MOST_MS]++;
    l->count++;
}

int64_t outage_p99_ms(const struct sim *sim, enum outage_part part)
{
    const struct latencies *l = &sim->latencies[part];
    int64_t above = l->count / 100, ms = LATENCY_MOST_MS;
    while (ms > 0 && above >= l->of_ms[ms])
        above -= l->of_ms[ms--];
    return ms;
}

/* At most 1.2 times what it was. */
static void check_slowed(struct sim *sim, enum outage_part part)
{
    int64_t before_ms = outage_p99_ms(sim, OUTAGE_BEFORE), ms = outage_p99_ms(sim, part);
    if (ms * 5 > before_ms * 6)
        sim_found(sim, CHECK_SLOWED, "healthy receivers' p99 is %lld ms %s, %lld ms before it",
                  (long long)ms, part == OUTAGE_DOWN ? "in the outage" : "after the outage",
                  (long long)before_ms);
}

void outage_run(struct sim *sim)
{
    sim->late.most_ms = 20;
    load(sim, WARM_MS);
    sim_trace(sim, "%u partners are down", sim->plan.outage_partners);
    sim->part = OUTAGE_DOWN;
    behave_all(sim, false);
    load(sim, sim->plan.down_ms);
    sim_trace(sim, "they are back");
    sim->part = OUTAGE_BACK;
    behave_all(sim, true);
    sim->returned_ms = sim_wall(sim);
    drain(sim);
    load(sim, AFTER_MS);
    if (sim->failed)
        return;
    check_slowed(sim, OUTAGE_DOWN);
    check_slowed(sim, OUTAGE_BACK);
    (void)scenario_drain(sim);
    if (!sim->failed)
        checks_at_end(sim);
}
