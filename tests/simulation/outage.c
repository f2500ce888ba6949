/* Partners that are all down for hours or days under load, beside healthy ones, and come back. */
#include "sim.h"

#include "base/alloc.h"

#define HEALTHY_ONE_IN 10
#define WARM_MS (10 * MINUTE)
#define AFTER_MS (20 * MINUTE) /* the load goes on for as long after they are back */

struct plan outage_plan(uint64_t seed)
{
    return (struct plan){.outage_partners = 10 + (uint32_t)(seed / 50 % 10),
                         .down_ms = (int64_t)(1 + seed / 50 % 3) * HOUR / 2,
                         .event_every_ms = 30 * SECOND};
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

static void load(struct sim *sim, int64_t for_ms)
{
    int64_t until_ms = sim->mono_ms + for_ms;
    int64_t most_ms = 2 * sim->plan.event_every_ms / sim->app_count;
    for (int64_t n = 0; sim->mono_ms < until_ms && !sim->failed; n++) {
        scenario_event(sim, (uint32_t)(1 + sim_below(sim, sim->app_count)), true);
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

void outage_run(struct sim *sim)
{
    sim->late.most_ms = 20;
    load(sim, WARM_MS);
    sim_trace(sim, "%u partners are down", sim->plan.outage_partners);
    behave_all(sim, false);
    load(sim, sim->plan.down_ms);
    sim_trace(sim, "they are back");
    behave_all(sim, true);
    sim->returned_ms = sim_wall(sim);
    load(sim, AFTER_MS);
    if (sim->failed)
        return;
    (void)scenario_drain(sim);
    if (!sim->failed)
        checks_at_end(sim);
}
