/* nodes [SEEDS [FIRST]]   runs that many seeds
 * nodes --plants          plants each bug, which its checker has to catch
 * nodes --plant NAME SEED one of them, with the last steps printed
 *
 * The last line is "NAME: N passed, M failed". */
#include "nodes.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SEEDS 1000       /* of a normal run */
#define PLANT_SEEDS 3000 /* a planted bug has to be caught within */

/* An assertion of the code under test: says by which seed. */
static void aborted(int signal_no)
{
    (void)signal_no;
    printf("seed %" PRIu64 " ends in an assertion; the last steps:\n", w.seed);
    world_print_trace();
    fflush(stdout);
    signal(SIGABRT, SIG_DFL);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int run_seeds(uint64_t first, int64_t count)
{
    int64_t failed = 0, starts = 0, refused = 0, moves = 0, steps = 0, callbacks = 0;
    double began_s = cpu_seconds(), virtual_s = 0;
    for (int64_t i = 0; i < count; i++) {
        world_run(first + (uint64_t)i);
        if (w.failed && failed < 3) {
            printf("seed %" PRIu64 ": %s: %s\n  the last steps:\n", w.seed,
                   checker_name(w.failed_by), w.finding);
            world_print_trace();
        }
        failed += w.failed;
        starts += w.starts;
        refused += w.refused;
        moves += w.moves;
        steps += w.steps;
        callbacks += (int64_t)w.db.callback_count;
        virtual_s += (double)w.now_ms / 1000 - 1000;
        world_close();
    }
    double took_s = cpu_seconds() - began_s + 0.001;
    printf("%" PRId64 " seeds from %" PRIu64 ", %" PRId64 " steps, %" PRId64 " callbacks, %" PRId64
           " exchanges, %" PRId64 " outcomes refused, %" PRId64
           " claims, %.1f hours, in %.1f CPU seconds: %.0f seeds/s\n",
           count, first, steps, callbacks, starts, refused, moves, virtual_s / 3600, took_s,
           (double)count / took_s);
    printf("nodes: %" PRId64 " passed, %" PRId64 " failed\n", count - failed, failed);
    return failed > 0;
}

static int run_plants(void)
{
    size_t caught = 0;
    for (size_t i = 0; i < plant_count; i++) {
        bool good = false; /* others may see what follows from it before its own checker does */
        uint64_t seed = 0;
        plant_now = (int)i;
        while (!good && seed < PLANT_SEEDS) {
            world_run(++seed);
            good = w.failed && w.failed_by == plants[i].caught_by;
            world_close();
        }
        caught += good;
        printf("%-30s %s by %s, seed %" PRIu64 "\n", plants[i].name, good ? "caught" : "NOT caught",
               checker_name(plants[i].caught_by), seed);
        fflush(stdout);
    }
    printf("nodes_plants: %zu passed, %zu failed\n", caught, plant_count - caught);
    return caught < plant_count;
}

int main(int argc, char **argv)
{
    signal(SIGABRT, aborted);
    if (argc == 2 && strcmp(argv[1], "--plants") == 0)
        return run_plants();
    if (argc == 4 && strcmp(argv[1], "--plant") == 0) {
        for (size_t i = 0; i < plant_count; i++)
            if (strcmp(plants[i].name, argv[2]) == 0)
                plant_now = (int)i;
        ASSERT(plant_now >= 0);
        return !run_seeds(strtoull(argv[3], NULL, 10), 1);
    }
    return run_seeds(argc > 2 ? strtoull(argv[2], NULL, 10) : 1,
                     argc > 1 ? strtoll(argv[1], NULL, 10) : SEEDS);
}
