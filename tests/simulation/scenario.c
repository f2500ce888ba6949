/* One run: a world chosen by the seed, steps drawn by lot, then everything is mended and what was
 * accepted has to come to its end. */
#include "sim.h"

#include "base/alloc.h"
#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>

#define STEPS 40
#define LATE_MOST_MS 300
#define BUSY_MOST_MS 3000

static int64_t between(struct sim *sim, int64_t least, int64_t most)
{
    return least + sim_below(sim, most - least + 1);
}

/* --- choosing a world
 * ------------------------------------------------------------------------------------ */

static int some_host(struct sim *sim)
{
    /* The first ones are the steady apps' own. */
    return (int)between(sim, sim->app_count, (int64_t)sim->host_count - 1);
}

static void behave(struct sim *sim, struct host *host)
{
    host->behaviour = (enum behaviour)sim_below(sim, BEHAVIOURS);
    if (sim_chance(sim, 3))
        host->behaviour = HOST_UP;
    host->period_ms = sim_chance(sim, 2) ? between(sim, 100, MINUTE) : between(sim, MINUTE, HOUR);
}

static void choose_app(struct sim *sim, uint32_t app_no)
{
    struct app_choice *c = &sim->choices[app_no - 1];
    *c = (struct app_choice){
        .enabled = true,
        .steady = sim_chance(sim, 4),
        .max_concurrency = (int32_t)between(sim, 1, sim_chance(sim, 2) ? 4 : 64),
        .timeout_ms = (int32_t)(between(sim, 3, 30) * SECOND),
        .rate_per_second = sim_chance(sim, 6) ? (int32_t)between(sim, 1, 50) : 0,
    };
    if (c->steady) {
        c->max_concurrency = 32;
        c->rate_per_second = 0;
    }
    c->host[LANE_TEST] = -1; /* a lane like any other: here are no test events */
    for (int k = LANE_SUCCESS; k <= LANE_OFFER; k++)
        c->host[k] = c->steady ? (int)app_no - 1 : sim_chance(sim, 12) ? -1 : some_host(sim);
}

static void choose_schedule(struct sim *sim)
{
    static const char *const shorter[] = {"5s", "1s,2s,3s,5s,8s,20s,40s,1m,5m,10m", "1m,10m,1h",
                                          "100ms,200ms,30s,5m,2h,6h"};
    const char *why;
    size_t which = (size_t)sim_below(sim, 2 * ARRAY_LEN(shorter));
    const char *text = which < ARRAY_LEN(shorter) ? shorter[which] : SCHEDULE_DEFAULT;
    bool good = schedule_parse(str_of(text), &sim->schedule, &why);
    ASSERT(good);
}

void scenario_choose(struct sim *sim)
{
    int64_t most_apps = sim->plan.apps_most    ? sim->plan.apps_most
                        : sim->seed % 100 == 0 ? 600
                        : sim->seed % 10 == 0  ? 80
                                               : 12;
    sim->clock.moves = sim->seed % 4 == 1;
    sim->has_local_faults = sim->seed % 4 == 3;
    sim->loop_count = (size_t)between(sim, 1, SIM_LOOPS_MAX);
    sim->app_count = (uint32_t)between(sim, most_apps / 3, most_apps);
    sim->host_count = sim->app_count + (size_t)between(sim, 1, 3 * most_apps);
    sim->hosts = xcalloc(sim->host_count, sizeof(struct host));
    for (size_t i = 0; i < sim->host_count; i++)
        if (i >= sim->app_count)
            behave(sim, &sim->hosts[i]);
    sim->choices = xcalloc(sim->app_count, sizeof(struct app_choice));
    for (uint32_t app_no = 1; app_no <= sim->app_count; app_no++)
        choose_app(sim, app_no);
    choose_schedule(sim);
    /* Pages that come late, a busy store, and, where the first windows of all lanes together are
     * more than the seats of a loop, receivers that hang before it is known that they do. */
    sim->wait_bound_ms = 2 * SECOND + 2 * BUSY_MOST_MS + 8 * LATE_MOST_MS;
    if (sim->app_count * 3 * WINDOW_START > LIMIT_EXCHANGES_PER_LOOP)
        sim->wait_bound_ms += 60 * SECOND;
}

/* --- events ---------------------------------------------------------------------------------- */

static void ignore(struct executor *executor, struct task *task)
{
    (void)executor;
    (void)task;
}
static struct executor nobody = {ignore};

static void run_nothing(struct task *task)
{
    (void)task;
}

/* An offer of that app that may not have been reversed yet; NULL: the lot fell on none. */
static const struct event *some_offer(struct sim *sim, uint32_t app_no)
{
    const struct shard *shard = &sim->shards[sim_account_of(app_no) - 1];
    if (shard->count == 0)
        return NULL;
    uint64_t no = (uint64_t)between(sim, 1, (int64_t)shard->count);
    const struct event *e = &late_store_entry(sim, sim_account_of(app_no), no)->event;
    return e->type == EVENT_OFFER_COMPLETED && e->app_no == app_no ? e : NULL;
}

void scenario_event(struct sim *sim, uint32_t app_no, bool survey)
{
    static const enum event_type types[] = {EVENT_SURVEY_COMPLETED, EVENT_SURVEY_DISQUALIFIED,
                                            EVENT_OFFER_COMPLETED, EVENT_OFFER_CLICKED};
    const struct event *original = !survey && sim_chance(sim, 3) ? some_offer(sim, app_no) : NULL;
    char id[32], panelist[] = "p?";
    snprintf(id, sizeof(id), "e-%lld", (long long)++sim->events);
    struct candidate c = {
        .terms = &sim->apps[app_no - 1]->terms,
        .client_no = app_no,
        .integration = INTEGRATION_SDK,
        .type = survey     ? EVENT_SURVEY_COMPLETED
                : original ? EVENT_OFFER_COMPLETION_REVERSED
                           : types[sim_below(sim, ARRAY_LEN(types))],
        .deliver = true,
        .occurred_ms = sim_wall(sim),
        .event_id = str_of(id),
        .client_id = STR("c"),
    };
    if (original) {
        c.original_reward_id = original->event_id;
    } else {
        panelist[1] = (char)('0' + between(sim, 1, SIM_PANELISTS));
        c.panelist_id = str_of(panelist);
        bool pays = c.type != EVENT_OFFER_CLICKED;
        c.has_revenue = pays;
        c.revenue_micros = pays ? 1250000 : 0;
        if (event_type_is_offer(c.type)) {
            c.offer_id = 7;
            c.offer_title = STR("t");
        }
    }
    uint32_t account_no = sim_account_of(app_no);
    struct intake_batch batch = {.done = {.run = run_nothing},
                                 .reply_to = &nobody,
                                 .items = &c,
                                 .count = 1,
                                 .received_ms = sim_wall(sim)};
    store_submit(sim->shards[account_no - 1].store, &batch);
    if (batch.verdicts[0].kind == VERDICT_ACCEPTED) {
        const struct entry *e = late_store_entry(sim, account_no, batch.verdicts[0].event_no);
        checks_accepted(sim, e);
        plant_accepted(sim, e);
    } else {
        ASSERT(batch.verdicts[0].kind == VERDICT_ALREADY_REVERSED);
    }
    arena_free(&batch.arena);
}

static void resend_any(struct sim *sim, uint32_t account_no, uint64_t no)
{
    const struct shard *shard = &sim->shards[account_no - 1];
    const struct entry *e = late_store_entry(sim, account_no, no);
    if (!e->event.body.p)
        return;
    checks_resent(sim, account_no, no, e->life.state != CALLBACK_PENDING,
                  e->life.state == CALLBACK_DELIVERED);
    struct resend r = {.done = {.run = run_nothing},
                       .reply_to = &nobody,
                       .account_no = account_no,
                       .event_id = e->event.event_id,
                       .now_ms = sim_wall(sim)};
    store_resend(shard->store, &r);
    ASSERT(r.status == STORE_OK);
    sim_witness(sim, account_no, no)->resend_no = e->resend.no;
    sim->resends++;
}

static void resend_one(struct sim *sim, uint32_t account_no, uint64_t no)
{
    uint32_t app_no = late_store_entry(sim, account_no, no)->event.app_no;
    if (!sim->choices[app_no - 1].steady)
        resend_any(sim, account_no, no);
}

static void resend(struct sim *sim)
{
    uint32_t account_no = (uint32_t)between(sim, 1, (int64_t)sim->shard_count);
    const struct shard *shard = &sim->shards[account_no - 1];
    if (shard->count == 0)
        return;
    resend_one(sim, account_no, (uint64_t)between(sim, 1, (int64_t)shard->count));
}

/* --- steps ----------------------------------------------------------------------------------- */

static uint32_t some_app(struct sim *sim)
{
    return (uint32_t)between(sim, 1, sim->app_count);
}

static void set_something(struct sim *sim, uint32_t app_no)
{
    struct app_choice *c = &sim->choices[app_no - 1];
    if (c->steady)
        return;
    int kind = (int)between(sim, LANE_SUCCESS, LANE_OFFER);
    switch (sim_below(sim, 6)) {
    case 0: c->host[kind] = -1; break;
    case 1:
    case 2:
        c->host[kind] = some_host(sim);
        apps_enable_lane(sim, app_no, (enum lane_kind)kind);
        break;
    case 3:
    case 4:
        c->enabled = !c->enabled;
        if (c->enabled)
            c->enabled_since_ms = sim_wall(sim);
        break;
    default:
        c->max_concurrency = (int32_t)between(sim, 1, 40);
        c->rate_per_second = sim_chance(sim, 2) ? (int32_t)between(sim, 1, 50) : 0;
        break;
    }
    sim_trace(sim, "app %u lane %d: enabled %d, host %d", app_no, kind, c->enabled, c->host[kind]);
    apps_publish(sim, app_no);
}

static void step_events(struct sim *sim)
{
    int64_t count = between(sim, 1, sim_chance(sim, 8) ? 150 : 3 + sim->app_count / 2);
    bool one = sim_chance(sim, 3);
    uint32_t app_no = some_app(sim);
    sim_trace(sim, "%lld events, to %s", (long long)count, one ? "one app" : "many apps");
    for (int64_t i = 0; i < count && !sim->failed; i++) {
        uint32_t to = one ? app_no : some_app(sim);
        scenario_event(sim, to, false);
        if (sim_chance(sim, 4))
            sim_run(sim, sim_below(sim, sim_chance(sim, 10) ? 20 * SECOND : 100));
        if (sim_chance(sim, 15)) /* in the middle of things */
            set_something(sim, to);
        if (sim_chance(sim, 30))
            resend(sim);
    }
}

static void step_host(struct sim *sim)
{
    struct host *host = &sim->hosts[some_host(sim)];
    behave(sim, host);
    sim_trace(sim, "host %td is %s", host - sim->hosts, behaviour_name(host->behaviour));
}

/* What an operator does after an outage: all of an app that is dead or skipped, some at a time,
 * with fresh ones in between. */
static void step_recovery(struct sim *sim)
{
    uint32_t app_no = some_app(sim), account_no = sim_account_of(app_no);
    size_t count = sim->shards[account_no - 1].count;
    int64_t at_once = between(sim, 1, 50);
    sim_trace(sim, "app %u recovers, %lld at a time", app_no, (long long)at_once);
    for (size_t i = 0, n = 0; i < count && !sim->failed; i++) {
        const struct entry *e = late_store_entry(sim, account_no, i + 1);
        if (e->event.app_no != app_no ||
            (e->life.state != CALLBACK_DEAD && e->life.state != CALLBACK_SKIPPED))
            continue;
        resend_one(sim, account_no, i + 1);
        if (++n % (size_t)at_once)
            continue;
        scenario_event(sim, app_no, false);
        sim_run(sim, 100);
    }
}

static void step_erase(struct sim *sim)
{
    uint32_t account_no = (uint32_t)between(sim, 1, (int64_t)sim->shard_count);
    erasures_begin(sim, account_no, (uint8_t)between(sim, 1, SIM_PANELISTS));
}

/* Afterwards every lane pages: a good moment to take something away. */
static void step_crash(struct sim *sim)
{
    sim_crash(sim);
    if (sim_chance(sim, 2))
        return;
    sim_run(sim, sim_below(sim, sim->late.most_ms + 1));
    for (int i = 0; i < 3; i++)
        step_erase(sim);
}

/* More for one app than its lanes may have in memory. */
static void step_flood(struct sim *sim)
{
    uint32_t app_no = some_app(sim);
    sim_trace(sim, "app %u is flooded", app_no);
    for (int i = 0; i < LIMIT_LANE_CALLBACKS_IN_RAM / 2 * 3 && !sim->failed; i++)
        scenario_event(sim, app_no, true);
    sim_run(sim, 0);
    if (!sim->failed)
        checks_memory(sim);
}

/* The clock is set forward by 40 days, and at times soon back, while hosts have been down for long
 * and fresh callbacks wait for them. */
static void step_jump(struct sim *sim)
{
    sim_trace(sim, "hosts are down while the clock jumps");
    for (size_t i = sim->app_count; i < sim->host_count; i++)
        sim->hosts[i].behaviour = HOST_DOWN;
    step_events(sim);
    sim_run(sim, 2 * callback_give_up_ms(&sim->schedule));
    step_events(sim);
    clock_forward(sim, 40 * DAY);
    sim_run(sim, sim_below(sim, 20 * MINUTE));
    if (sim_chance(sim, 2))
        clock_mend(sim);
}

static void pass_time(struct sim *sim)
{
    static const int64_t longest[] = {50, SECOND, 20 * SECOND, 3 * MINUTE, HOUR, 20 * HOUR};
    int64_t for_ms = between(sim, 0, longest[sim_below(sim, ARRAY_LEN(longest))]);
    sim_run(sim, for_ms);
}

/* This machine lacks descriptors, a route or name servers: for most tries, or for some. */
static void step_local_fault(struct sim *sim)
{
    int64_t for_ms = sim_chance(sim, 3) ? 3 * HOUR : sim_chance(sim, 2) ? MINUTE : 5 * SECOND;
    sim->fault_until_ms = sim->mono_ms + sim_below(sim, for_ms);
    sim->fault_one_in = sim_chance(sim, 2) ? 1 : between(sim, 2, 5);
    sim_trace(sim, "a local fault for %lld ms", (long long)(sim->fault_until_ms - sim->mono_ms));
}

static void step(struct sim *sim)
{
    int64_t what = sim_below(sim, 103);
    if (sim->has_local_faults && sim_chance(sim, 30))
        step_local_fault(sim);
    if (what == 0 && sim_chance(sim, 10)) {
        step_flood(sim);
    } else if (what < 40) {
        step_events(sim);
    } else if (what < 58) {
        for (int64_t n = between(sim, 1, 1 + sim->app_count / 8); n > 0; n--)
            set_something(sim, some_app(sim));
    } else if (what < 74) {
        for (int64_t n = between(sim, 1, 1 + (int64_t)sim->host_count / 8); n > 0; n--)
            step_host(sim);
    } else if (what < 76) {
        step_recovery(sim);
    } else if (what < 79) {
        step_erase(sim);
    } else if (what < 84) {
        sim_trace(sim, "resends");
        for (int64_t n = between(sim, 1, 20); n > 0; n--)
            resend(sim);
    } else if (what < 88) {
        sim->late.most_ms = sim_below(sim, LATE_MOST_MS);
    } else if (what < 91) {
        sim_trace(sim, "the store is busy");
        sim->late.busy = true;
        sim_run(sim, sim_below(sim, BUSY_MOST_MS));
        sim->late.busy = false;
    } else if (what < 98) {
        if (sim_chance(sim, 2))
            sim->crash_in = between(sim, 1, 60);
        else
            step_crash(sim);
    } else if (what < 100) {
        sim_stop(sim);
    } else if (what == 102 && sim->clock.moves) {
        step_jump(sim);
    } else {
        clock_touch(sim);
    }
    pass_time(sim);
}

/* --- the end --------------------------------------------------------------------------------- */

/* Without a crash before everything is dated anew; what one has kept from that waits for a resend.
 */
static void mend_clock(struct sim *sim)
{
    if (!sim->clock.moves)
        return;
    sim->crash_in = 0;
    clock_mend(sim);
    sim_run(sim, CLOCK_GRACE_MS);
    for (uint32_t account = 1; account <= sim->shard_count && !sim->failed; account++)
        for (uint64_t no = 1; no <= sim->shards[account - 1].count; no++)
            if (sim_witness(sim, account, no)->late_excused)
                resend_any(sim, account, no);
}

static void mend(struct sim *sim)
{
    sim_trace(sim, "everything is mended");
    for (size_t i = 0; i < sim->host_count; i++)
        sim->hosts[i].behaviour = HOST_UP;
    for (uint32_t app_no = 1; app_no <= sim->app_count; app_no++) {
        struct app_choice *c = &sim->choices[app_no - 1];
        if (!c->enabled)
            c->enabled_since_ms = sim_wall(sim);
        c->enabled = true;
        for (int k = LANE_SUCCESS; k <= LANE_OFFER; k++) {
            apps_enable_lane(sim, app_no, (enum lane_kind)k);
            if (c->host[k] < 0)
                c->host[k] = some_host(sim);
        }
        apps_publish(sim, app_no);
    }
}

/* By then the last retry has come, Retry-After or not. */
static int64_t longest_wait(const struct sim *sim)
{
    int64_t longest_ms = SCHEDULE_RETRY_AFTER_MOST_MS;
    for (int32_t i = 0; i < sim->schedule.steps; i++) {
        int64_t most_ms = sim->schedule.step_ms[i] + sim->schedule.step_ms[i] / 10;
        longest_ms = most_ms > longest_ms ? most_ms : longest_ms;
    }
    return longest_ms + 4 * HOUR;
}

/* A resend of a final callback, which is in no count, may wait for a Retry-After. */
static bool is_resend_owed(struct sim *sim)
{
    for (uint32_t account = 1; account <= sim->shard_count; account++)
        for (uint64_t no = 1; no <= sim->shards[account - 1].count; no++)
            if (sim_witness(sim, account, no)->owed)
                return true;
    return false;
}

int64_t scenario_drain(struct sim *sim)
{
    struct store_numbers left = {.callbacks_pending = 1};
    int64_t waited = 0;
    for (; waited < longest_wait(sim) && !sim->failed; waited += HOUR) {
        sim_run(sim, HOUR);
        checks_clock(sim);
        store_get_numbers(&sim->late.store, &left);
        if (left.callbacks_pending == 0 && sim->exchanges.count == 0 && waited > 4 * HOUR &&
            !is_resend_owed(sim))
            break;
    }
    return waited;
}

void scenario_run(struct sim *sim)
{
    if (sim->plan.outage_partners) {
        outage_run(sim);
        return;
    }
    for (int i = 0; i < STEPS && !sim->failed; i++) {
        step(sim);
        if (!sim->failed)
            checks_memory(sim);
        if (!sim->failed)
            checks_clock(sim);
        if (!sim->failed && sim_chance(sim, 8))
            checks_counters(sim);
    }
    if (sim->failed)
        return;
    /* A 410 whose mark is still on its way would undo the mending. */
    for (size_t i = 0; i < sim->host_count; i++)
        sim->hosts[i].behaviour = HOST_UP;
    if (sim->fault_until_ms > sim->mono_ms)
        sim->fault_until_ms = sim->mono_ms;
    sim_run(sim, MINUTE);
    mend_clock(sim);
    mend(sim);
    (void)scenario_drain(sim);
    if (!sim->failed)
        checks_at_end(sim);
}

static void retire(struct sim *sim, struct shard *shard)
{
    struct store_numbers n;
    store_get_numbers(shard->store, &n);
    ASSERT(n.callbacks_pending == 0 && sim->late.jobs.count == 0 && sim->exchanges.count == 0);
    sim->retired_events += n.events_accepted;
    sim->retired_delivered += n.callbacks_delivered;
    sim->retired_dead += n.callbacks_dead;
    store_close(shard->store);
    shard->store = memory_store_open(&sim->env);
    store_start(shard->store, delivery_sink(sim->delivery));
    shard->count = 0;
}

void scenario_renew(struct sim *sim)
{
    for (size_t i = 0; i < sim->shard_count; i++)
        retire(sim, &sim->shards[i]);
    for (size_t i = sim->app_count; i < sim->host_count; i++)
        behave(sim, &sim->hosts[i]);
}
