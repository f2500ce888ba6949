/* The runtime of each dispatcher: the virtual clock, and receivers that behave in twenty ways. */
#include "sim.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

const char *behaviour_name(enum behaviour b)
{
    static const char *const names[BEHAVIOURS] = {
        "up",       "down",          "flapping", "slow",    "not found",  "gone",    "busy",
        "error",    "no connection", "no name",  "hanging", "resetting",  "bad tls", "redirecting",
        "dripping", "lying",         "closing",  "moving",  "going away", "mixed"};
    return names[b];
}

struct answer {
    enum attempt_class class;
    int status;
    int64_t after_ms;       /* INT64_MAX: not before the deadline */
    int64_t retry_after_ms; /* -1: none */
};

static struct answer status(struct sim *sim, int code, int64_t most_ms)
{
    return (struct answer){code == 410                 ? ATTEMPT_GONE
                           : code >= 300 && code < 400 ? ATTEMPT_REDIRECT
                           : code >= 400               ? ATTEMPT_STATUS
                                                       : ATTEMPT_OK,
                           code, 1 + sim_below(sim, most_ms), -1};
}

static struct answer fails(struct sim *sim, enum attempt_class class, int64_t most_ms)
{
    return (struct answer){class, 0, most_ms ? sim_below(sim, most_ms) : INT64_MAX, -1};
}

static struct answer busy(struct sim *sim)
{
    struct answer a = status(sim, sim_chance(sim, 2) ? 429 : 503, 100);
    if (!sim_chance(sim, 4))
        a.retry_after_ms = sim_below(sim, sim_chance(sim, 30)  ? 30 * HOUR
                                          : sim_chance(sim, 4) ? 2 * HOUR
                                                               : 2 * MINUTE);
    return sim_chance(sim, 3) ? status(sim, 200, 50) : a;
}

/* Whole answers, short ones that a connection ends under, and what is no HTTP. */
static struct answer lies(struct sim *sim)
{
    switch (sim_below(sim, 4)) {
    case 0: return status(sim, 200, 90);
    case 1: return fails(sim, ATTEMPT_PROTOCOL, 200);
    case 2: return fails(sim, ATTEMPT_RESET, 200);
    default: return fails(sim, ATTEMPT_TIMEOUT, 0);
    }
}

static struct answer moves(struct sim *sim, const struct host *host)
{
    switch ((sim->mono_ms / host->period_ms) % 4) {
    case 0: return fails(sim, ATTEMPT_DNS, 3 * SECOND);
    case 1: return fails(sim, ATTEMPT_DESTINATION_REFUSED, 50);
    case 2: return fails(sim, ATTEMPT_REFUSED, 50);
    default: return status(sim, 200, 50);
    }
}

/* Everybody who asks until then is refused at that moment. */
static struct answer goes_away(struct sim *sim, struct host *host)
{
    if (host->goes_away_ms <= sim->mono_ms && sim_chance(sim, 20))
        host->goes_away_ms = sim->mono_ms + 1 + sim_below(sim, 200);
    if (host->goes_away_ms <= sim->mono_ms)
        return status(sim, 200, 50);
    return (struct answer){ATTEMPT_RESET, 0, host->goes_away_ms - sim->mono_ms, -1};
}

static struct answer answer(struct sim *sim, struct host *host, enum behaviour how)
{
    switch (how) {
    case HOST_UP: return status(sim, 200, 50);
    case HOST_DOWN: return fails(sim, ATTEMPT_REFUSED, 5);
    case HOST_FLAPPING:
        return (sim->mono_ms / host->period_ms) % 2 ? fails(sim, ATTEMPT_REFUSED, 5)
                                                    : status(sim, 204, 50);
    case HOST_SLOW: return status(sim, 200, 12 * SECOND);
    case HOST_NOT_FOUND: return status(sim, sim_chance(sim, 5) ? 200 : 404, 30);
    case HOST_GONE: /* of some users, and at times of all */
        return status(sim, sim_chance(sim, sim->mono_ms / (10 * MINUTE) % 2 ? 6 : 1) ? 410 : 200,
                      30);
    case HOST_BUSY: return busy(sim);
    case HOST_ERROR: return status(sim, 500, 200);
    case HOST_NO_CONNECTION: return fails(sim, ATTEMPT_CONNECT_TIMEOUT, 5 * SECOND);
    case HOST_NO_NAME:
        return sim_chance(sim, 5) ? status(sim, 200, 90) : fails(sim, ATTEMPT_DNS, 3 * SECOND);
    case HOST_HANGING: return fails(sim, ATTEMPT_TIMEOUT, 0);
    case HOST_RESETTING:
        return sim_chance(sim, 3) ? status(sim, 200, 90) : fails(sim, ATTEMPT_RESET, SECOND);
    case HOST_BAD_TLS: return fails(sim, ATTEMPT_TLS, 300);
    case HOST_REDIRECTING: return status(sim, 302, 40);
    case HOST_DRIPPING: return status(sim, 200, 90 * SECOND);
    case HOST_LYING: return lies(sim);
    case HOST_CLOSING:
        return sim_chance(sim, 15) ? fails(sim, ATTEMPT_RESET, 5) : status(sim, 200, 40);
    case HOST_MOVING: return moves(sim, host);
    case HOST_GOING_AWAY: return goes_away(sim, host);
    case HOST_MIXED: return answer(sim, host, (enum behaviour)sim_below(sim, HOST_MIXED));
    }
    UNREACHABLE();
}

/* --- exchanges
 * --------------------------------------------------------------------------------------- */

static struct sim_loop *loop_of(struct dispatcher_runtime *runtime)
{
    return CONTAINER_OF(runtime, struct sim_loop, runtime);
}

static void ends(struct moment *m)
{
    struct sim_exchange *e = CONTAINER_OF(m, struct sim_exchange, moment);
    struct sim *sim = e->loop->sim;
    struct exchange *x = e->x;
    const struct delivery_attempt *t = CONTAINER_OF(x, struct delivery_attempt, x);
    e->loop->active = true;
    list_remove(&sim->exchanges, &e->link);
    struct ending ending = checks_ending(sim, t, (int)(e->loop - sim->loops));
    free(e);
    sim->attempts++;
    x->done(x);
    checks_ended(sim, &ending);
}

/* As the sender finds it: at once, or after it has waited for name servers. */
static struct answer prevented(struct sim *sim)
{
    return fails(sim, ATTEMPT_REFUSED, sim_chance(sim, 2) ? 2 : 3 * SECOND);
}

static bool is_prevented(struct sim *sim)
{
    return sim->mono_ms < sim->fault_until_ms && sim_chance(sim, sim->fault_one_in);
}

static void start(struct dispatcher_runtime *runtime, struct exchange *x)
{
    struct sim_loop *loop = loop_of(runtime);
    struct sim *sim = loop->sim;
    struct host *host = &sim->hosts[url_host(x->url)];
    x->local_fault = is_prevented(sim) ? LOCAL_FAULT_DESCRIPTORS : LOCAL_FAULT_NONE;
    checks_starting(sim, CONTAINER_OF(x, struct delivery_attempt, x), (int)(loop - sim->loops));
    struct answer a = x->local_fault ? prevented(sim) : answer(sim, host, host->behaviour);
    if (a.after_ms >= x->timeout_ms)
        a = (struct answer){ATTEMPT_TIMEOUT, 0, x->timeout_ms, -1};
    x->class = a.class;
    x->status = a.status;
    x->retry_after_ms = a.retry_after_ms;
    x->duration_ms = (int32_t)a.after_ms;
    snprintf(x->detail, sizeof(x->detail), "%s", a.class == ATTEMPT_OK ? "" : "It failed.");
    struct sim_exchange *e = xcalloc(1, sizeof(*e));
    e->x = x;
    e->loop = loop;
    e->moment.happen = ends;
    list_push(&sim->exchanges, &e->link);
    timeline_add(&sim->timeline, &e->moment, sim->mono_ms + a.after_ms, rng_next(&sim->rng));
}

static void cancel(struct dispatcher_runtime *runtime, struct exchange *x)
{
    struct sim *sim = loop_of(runtime)->sim;
    for (struct link *link = sim->exchanges.first; link; link = link->next) {
        struct sim_exchange *e = CONTAINER_OF(link, struct sim_exchange, link);
        if (e->x != x)
            continue;
        list_remove(&sim->exchanges, link);
        timeline_remove(&sim->timeline, &e->moment);
        free(e);
        return;
    }
    UNREACHABLE();
}

/* --- the clock -------------------------------------------------------------------------------- */

static int64_t wall_ms(struct dispatcher_runtime *runtime)
{
    return sim_wall(loop_of(runtime)->sim);
}

static int64_t mono_ms(struct dispatcher_runtime *runtime)
{
    return loop_of(runtime)->sim->mono_ms;
}

static void wake_at(struct dispatcher_runtime *runtime, int64_t at_ms)
{
    loop_of(runtime)->wake_ms = at_ms;
}

static void post(struct executor *executor, struct task *task)
{
    struct sim_loop *loop = CONTAINER_OF(executor, struct sim_loop, executor);
    task->next = NULL;
    if (loop->last)
        loop->last->next = task;
    else
        loop->first = task;
    loop->last = task;
    loop->active = true;
}

void receivers_attach(struct sim *sim)
{
    for (size_t i = 0; i < sim->loop_count; i++) {
        struct sim_loop *loop = &sim->loops[i];
        loop->sim = sim;
        loop->wake_ms = INT64_MAX;
        rng_seed(&loop->rng, sim->seed * SIM_LOOPS_MAX + i);
        loop->executor.post = post;
        loop->runtime = (struct dispatcher_runtime){
            .executor = &loop->executor,
            .rng = &loop->rng,
            .wall_ms = wall_ms,
            .mono_ms = mono_ms,
            .clock_mono_ms = mono_ms,
            .start = start,
            .cancel = cancel,
            .wake_at = wake_at,
        };
    }
}
