/* The clockwork: what happens next, crashes and recoveries, what was found. */
#include "sim.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define HOT_ROUNDS 20000 /* at one moment of virtual time */

struct sim *sim_now;

/* --- what was found
 * ---------------------------------------------------------------------------------- */

void sim_trace(struct sim *sim, const char *format, ...)
{
    char *line = sim->trace[sim->traced++ % SIM_TRACE_LINES];
    int n = snprintf(line, SIM_TRACE_BYTES, "%12.3f s  ",
                     (double)(sim->mono_ms - SIM_START_MONO_MS) / 1000);
    va_list args;
    va_start(args, format);
    vsnprintf(line + n, SIM_TRACE_BYTES - (size_t)n, format, args);
    va_end(args);
    if (sim->watched[0])
        printf("%s\n", line);
}

void sim_watch(struct sim *sim, uint32_t account_no, uint64_t event_no, const char *format, ...)
{
    if (sim->watched[0] != account_no || sim->watched[1] != event_no)
        return;
    char text[SIM_TRACE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    sim_trace(sim, "%s", text);
}

void sim_print_trace(const struct sim *sim)
{
    uint64_t from = sim->traced > SIM_TRACE_LINES ? sim->traced - SIM_TRACE_LINES : 0;
    for (uint64_t i = from; i < sim->traced; i++)
        printf("    %s\n", sim->trace[i % SIM_TRACE_LINES]);
}

void sim_found(struct sim *sim, enum checker by, const char *format, ...)
{
    if (sim->failed) /* what follows from the first says little */
        return;
    sim->failed = true;
    sim->failed_by = by;
    va_list args;
    va_start(args, format);
    vsnprintf(sim->finding, sizeof(sim->finding), format, args);
    va_end(args);
    sim_trace(sim, "%s: %s", checker_name(by), sim->finding);
}

/* --- the clockwork
 * ------------------------------------------------------------------------------------- */

/* One pass of a loop, as the real one makes it: tasks, then the end of the tick. */
static bool run_loop(struct sim *sim, struct sim_loop *loop)
{
    bool due = loop->wake_ms <= sim->mono_ms;
    if (!loop->active && !due)
        return false;
    loop->active = false;
    if (due)
        loop->wake_ms = INT64_MAX; /* a timer fires once */
    struct task *task;
    while ((task = loop->first) != NULL) {
        loop->first = task->next;
        if (!loop->first)
            loop->last = NULL;
        task->run(task);
    }
    if (loop->runtime.on_tick_end)
        loop->runtime.on_tick_end(loop->runtime.context);
    return true;
}

bool sim_crash_point(struct sim *sim)
{
    if (sim->crash_in == 0 || sim->dropping || --sim->crash_in > 0)
        return false;
    sim->crash_due = true;
    return true;
}

static bool run_moment(struct sim *sim)
{
    bool any = false;
    struct moment *m;
    while ((m = timeline_first(&sim->timeline)) != NULL && m->at_ms <= sim->mono_ms) {
        timeline_remove(&sim->timeline, m);
        m->happen(m);
        any = true;
        if (sim->crash_due)
            return true;
    }
    sim->rounds++;
    for (size_t i = 0; i < sim->loop_count; i++)
        any |= run_loop(sim, &sim->loops[i]);
    return any;
}

static int64_t next_ms(const struct sim *sim)
{
    const struct moment *m = timeline_first(&sim->timeline);
    int64_t at_ms = m ? m->at_ms : INT64_MAX;
    for (size_t i = 0; i < sim->loop_count; i++)
        if (sim->loops[i].wake_ms < at_ms)
            at_ms = sim->loops[i].wake_ms;
    return at_ms;
}

/* Everything of this very moment. */
static void settle(struct sim *sim)
{
    int rounds = 0;
    while (!sim->failed && run_moment(sim)) {
        if (sim->crash_due)
            sim_crash(sim);
        if (++rounds > HOT_ROUNDS)
            sim_found(sim, CHECK_HOT, "it turns and turns without time passing");
    }
}

void sim_run(struct sim *sim, int64_t for_ms)
{
    int64_t until_ms = sim->mono_ms + for_ms;
    settle(sim);
    while (!sim->failed) {
        int64_t at_ms = next_ms(sim);
        if (at_ms > until_ms)
            break;
        sim->mono_ms = at_ms > sim->mono_ms ? at_ms : sim->mono_ms;
        settle(sim);
    }
    if (sim->mono_ms < until_ms) /* a crash takes a while */
        sim->mono_ms = until_ms;
}

/* --- lives
 * -----------------------------------------------------------------------------------------------
 */

static void begin_life(struct sim *sim)
{
    struct dispatcher_runtime *runtimes[SIM_LOOPS_MAX];
    receivers_attach(sim);
    for (size_t i = 0; i < sim->loop_count; i++)
        runtimes[i] = &sim->loops[i].runtime;
    struct delivery_options options = {
        .store = &sim->late.store,
        .schedule = sim->schedule,
        .allowance_total = LIMIT_EXCHANGES_PER_LOOP,
        .disable_lane = apps_disable_lane,
        .context = sim,
    };
    sim->life_began_ms = sim->mono_ms;
    sim->life_forward_ms = sim->clock.forward_ms;
    memset(sim->ends, 0, sizeof(sim->ends));
    struct lane_backlog *lanes;
    size_t count = store_backlog(&sim->late.store, &lanes);
    sim->delivery = delivery_new_on(&options, runtimes, sim->loop_count);
    store_start(&sim->late.store, delivery_sink(sim->delivery));
    delivery_recover(sim->delivery, lanes, count);
    free(lanes);
}

static void has_stopped(struct task *task)
{
    CONTAINER_OF(task, struct sim, stopped_task)->stopped = true;
}

/* A dispatcher has no way of being dropped with things under way, and needs none in the daemon: so
 * all of it is cancelled and answered, with nobody looking and nothing stored. */
static void drop_life(struct sim *sim)
{
    sim->dropping = true;
    sim->stopped = false;
    sim->stopped_task.run = has_stopped;
    delivery_stop(sim->delivery, &sim->loops[0].executor, &sim->stopped_task);
    late_store_crash(sim);
    for (int rounds = 0; !sim->stopped; rounds++) {
        ASSERT(rounds < HOT_ROUNDS);
        for (size_t i = 0; i < sim->loop_count; i++) {
            sim->loops[i].active = true;
            (void)run_loop(sim, &sim->loops[i]);
            dispatcher_cancel_all(sim->delivery->dispatchers[i]);
        }
        late_store_crash(sim);
    }
    for (size_t i = 0; i < sim->loop_count; i++)
        (void)run_loop(sim, &sim->loops[i]);
    delivery_free(sim->delivery);
    sim->delivery = NULL;
    ASSERT(sim->exchanges.count == 0 && sim->late.jobs.count == 0);
    sim->dropping = false;
}

void sim_crash(struct sim *sim)
{
    sim_trace(sim, "crash: %zu exchanges, %zu requests to the store under way",
              sim->exchanges.count, sim->late.jobs.count);
    sim->crashes++;
    sim->crash_due = false;
    sim->crash_in = 0;
    late_store_tear(sim);
    drop_life(sim);
    checks_crashed(sim);
    sim->mono_ms += 1 + sim_below(sim, 5 * SECOND);
    begin_life(sim);
}

void sim_stop(struct sim *sim)
{
    sim_trace(sim, "stop");
    sim->crash_in = 0;
    sim->stopped = false;
    sim->stopped_task.run = has_stopped;
    delivery_stop(sim->delivery, &sim->loops[0].executor, &sim->stopped_task);
    sim_run(sim, 2 * MINUTE);
    if (sim->failed)
        return;
    if (!sim->stopped) {
        sim_found(sim, CHECK_LOST, "it does not stop");
        return;
    }
    delivery_free(sim->delivery);
    sim->delivery = NULL;
    checks_crashed(sim);
    begin_life(sim);
}

/* --- the whole
 * ------------------------------------------------------------------------------------------- */

static int64_t env_wall(struct env *env)
{
    return sim_wall(CONTAINER_OF(env, struct sim, env));
}

static int64_t env_mono(struct env *env)
{
    return CONTAINER_OF(env, struct sim, env)->mono_ms;
}

static void env_bytes(struct env *env, void *to, size_t n)
{
    struct sim *sim = CONTAINER_OF(env, struct sim, env);
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)to)[i] = (unsigned char)rng_next(&sim->rng);
}

struct sim *sim_open(uint64_t seed, const struct plan *plan)
{
    struct sim *sim = xcalloc(1, sizeof(*sim));
    sim_now = sim;
    sim->seed = seed;
    sim->plan = plan ? *plan : seed % 50 == 49 ? outage_plan(seed) : (struct plan){0};
    sim->apps_of_account = sim->plan.outage_partners ? 1 : 4;
    rng_seed(&sim->rng, seed);
    sim->mono_ms = SIM_START_MONO_MS;
    sim->rounds = 1;
    sim->env = (struct env){env_wall, env_mono, env_bytes};
    if (sim->plan.outage_partners)
        outage_choose(sim);
    else
        scenario_choose(sim);
    sim->shard_count = sim_account_of(sim->app_count);
    sim->lanes = xcalloc((size_t)(sim->app_count + 1) * LANE_KINDS, sizeof(struct lane_witness));
    late_store_open(sim);
    apps_open(sim);
    checks_crashed(sim);
    begin_life(sim);
    return sim;
}

void sim_close(struct sim *sim)
{
    if (sim->delivery)
        drop_life(sim);
    apps_close(sim);
    late_store_close(sim);
    ASSERT(sim->timeline.count == 0);
    free(sim->timeline.items);
    free(sim->hosts);
    free(sim->choices);
    free(sim->lanes);
    free(sim);
    sim_now = NULL;
}
