/* simulation [SEEDS [FIRST]]   runs that many seeds
 * simulation --seconds N       as many as fit
 * simulation --long [ATTEMPTS [YEARS]]   one world until it has seen both, season after season
 * simulation --outage [PARTNERS [HOURS]] that many partners down for that long, under load
 * simulation --plants          plants each bug, which its checker has to catch
 * simulation --plant NAME SEED one of them, with the last steps printed
 * simulation --watch SEED ACCOUNT EVENT   one seed, with every move of that callback
 *
 * The last line is "NAME: N passed, M failed". */
#include "sim.h"

#include "base/log.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LONG_APPS 600
#define LONG_ATTEMPTS 5000000
#define LONG_YEARS 10
#define PLANT_SEEDS 400 /* within which a planted bug has to be caught */

struct total {
    int64_t seeds, failed, attempts, events, crashes, virtual_ms, hosts_most;
};

/* An assertion of the code under test: says by which seed. */
static void aborted(int signal_no)
{
    (void)signal_no;
    if (sim_now) {
        printf("seed %" PRIu64 " ends in an assertion; the last steps:\n", sim_now->seed);
        sim_print_trace(sim_now);
    }
    fflush(stdout);
    signal(SIGABRT, SIG_DFL);
}

static uint64_t watched[2];

static const struct plan *planned; /* NULL: by the seed */

static bool run_seed(uint64_t seed, struct total *total, bool tell, enum checker *ret_by)
{
    struct sim *sim = sim_open(seed, planned);
    memcpy(sim->watched, watched, sizeof(watched));
    scenario_run(sim);
    bool failed = sim->failed;
    if (failed && tell) {
        printf("seed %" PRIu64 ": %s: %s\n  the last steps:\n", seed, checker_name(sim->failed_by),
               sim->finding);
        sim_print_trace(sim);
    }
    *ret_by = sim->failed_by;
    total->seeds++;
    total->failed += failed;
    total->attempts += sim->attempts;
    total->events += sim->events;
    total->crashes += sim->crashes;
    total->virtual_ms += sim->mono_ms - SIM_START_MONO_MS;
    if ((int64_t)sim->host_count > total->hosts_most)
        total->hosts_most = (int64_t)sim->host_count;
    sim_close(sim);
    return !failed;
}

static int64_t now_ms(void)
{
    return env_mono_ms(env_real());
}

/* seconds 0: no limit. */
static int run_seeds(uint64_t first, int64_t count, int64_t seconds)
{
    struct total total = {0};
    enum checker by;
    int64_t began_ms = now_ms();
    for (int64_t i = 0; i < count; i++) {
        if (seconds && i > 0 && now_ms() - began_ms > seconds * 1000)
            break;
        (void)run_seed(first + (uint64_t)i, &total, total.failed < 3, &by);
    }
    double took_s = (double)(now_ms() - began_ms + 1) / 1000;
    printf("%" PRId64 " seeds from %" PRIu64 ", %" PRId64 " events, %" PRId64 " attempts, %" PRId64
           " crashes, %.2f years, up to %" PRId64 " hosts, in %.1f s: %.1f seeds/s, %.0f"
           " attempts/s\n",
           total.seeds, first, total.events, total.attempts, total.crashes,
           (double)total.virtual_ms / (365.25 * (double)DAY), total.hosts_most, took_s,
           (double)total.seeds / took_s, (double)total.attempts / took_s);
    printf("simulation: %" PRId64 " passed, %" PRId64 " failed\n", total.seeds - total.failed,
           total.failed);
    return total.failed > 0;
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* One world, told as a whole. */
static int end_world(struct sim *sim, int64_t seasons)
{
    bool failed = sim->failed;
    if (failed) {
        printf("%s: %s\n  the last steps:\n", checker_name(sim->failed_by), sim->finding);
        sim_print_trace(sim);
    }
    double cpu_s = cpu_seconds();
    printf("one world of %zu hosts: %" PRId64 " events, %" PRId64 " attempts, %" PRId64
           " crashes, %" PRId64 " seasons, %.2f years, at most %d at once in a lane; %.1f CPU"
           " seconds, %.0f attempts a CPU second\n",
           sim->host_count, sim->events, sim->attempts, sim->crashes, seasons,
           (double)(sim->mono_ms - SIM_START_MONO_MS) / (365.25 * (double)DAY), sim->most_at_once,
           cpu_s, (double)sim->attempts / cpu_s);
    sim_close(sim);
    printf("simulation: %d passed, %d failed\n", !failed, failed);
    return failed;
}

static int run_long(int64_t attempts, double years)
{
    const struct plan plan = {.apps_most = LONG_APPS};
    struct sim *sim = sim_open(1, &plan);
    int64_t seasons = 0, long_ms = (int64_t)(years * 365.25 * (double)DAY);
    while (!sim->failed &&
           (sim->attempts < attempts || sim->mono_ms - SIM_START_MONO_MS < long_ms)) {
        if (seasons++ > 0)
            scenario_renew(sim);
        scenario_run(sim);
    }
    return end_world(sim, seasons);
}

static int run_outage(uint32_t partners, int64_t hours)
{
    const struct plan plan = outage_plan_of(partners, hours);
    struct sim *sim = sim_open(1, &plan);
    scenario_run(sim);
    printf("%u partners down for %" PRId64 " h: %" PRId64 " callbacks overdue, drained in %" PRId64
           " s; healthy p99 %" PRId64 " ms before, %" PRId64 " ms during, %" PRId64
           " ms after the outage\n",
           partners, hours, sim->overdue, sim->drained_ms / SECOND,
           outage_p99_ms(sim, OUTAGE_BEFORE), outage_p99_ms(sim, OUTAGE_DOWN),
           outage_p99_ms(sim, OUTAGE_BACK));
    return end_world(sim, 1);
}

static int run_plants(void)
{
    int caught = 0;
    for (size_t i = 0; i < plant_count; i++) {
        struct total total = {0};
        enum checker by = CHECK_LOST;
        uint64_t seed = 1;
        plant_now = (int)i;
        bool good = false; /* others may see what follows from it before its own checker does */
        for (; seed <= PLANT_SEEDS && !good; seed += !good)
            good = !run_seed(seed, &total, false, &by) && by == plants[i].caught_by;
        caught += good;
        printf("%-30s %s by %s, seed %" PRIu64 "\n", plants[i].name, good ? "caught" : "NOT caught",
               checker_name(plants[i].caught_by), seed);
        fflush(stdout);
    }
    plant_now = -1;
    printf("simulation_plants: %d passed, %d failed\n", caught, (int)plant_count - caught);
    return caught < (int)plant_count;
}

static int run_plant(const char *name, uint64_t seed)
{
    struct total total = {0};
    enum checker by;
    for (size_t i = 0; i < plant_count; i++)
        if (strcmp(plants[i].name, name) == 0)
            plant_now = (int)i;
    ASSERT(plant_now >= 0);
    return !run_seed(seed, &total, true, &by);
}

int main(int argc, char **argv)
{
    log_set(LOG_ERROR, false);
    signal(SIGABRT, aborted);
    if (argc == 2 && strcmp(argv[1], "--plants") == 0)
        return run_plants();
    if (argc == 4 && strcmp(argv[1], "--plant") == 0)
        return run_plant(argv[2], strtoull(argv[3], NULL, 10));
    if (argc == 5 && strcmp(argv[1], "--watch") == 0) {
        watched[0] = strtoull(argv[3], NULL, 10);
        watched[1] = strtoull(argv[4], NULL, 10);
        return run_seeds(strtoull(argv[2], NULL, 10), 1, 0);
    }
    if (argc == 3 && strcmp(argv[1], "--seconds") == 0)
        return run_seeds(1, INT64_MAX, strtoll(argv[2], NULL, 10));
    if (argc >= 2 && strcmp(argv[1], "--long") == 0)
        return run_long(argc > 2 ? strtoll(argv[2], NULL, 10) : LONG_ATTEMPTS,
                        argc > 3 ? strtod(argv[3], NULL) : LONG_YEARS);
    if (argc >= 2 && strcmp(argv[1], "--outage") == 0)
        return run_outage(argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 200,
                          argc > 3 ? strtoll(argv[3], NULL, 10) : 2);
    int64_t count = argc > 1 ? strtoll(argv[1], NULL, 10) : 100;
    return run_seeds(argc > 2 ? strtoull(argv[2], NULL, 10) : 1, count, 0);
}
