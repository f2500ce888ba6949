/* The adaptive window: growth, one shrink per cohort, suspension, probes, slow return. */
#include "domain/window.h"

#include "base/check.h"

#include "check.h"

#define LIMIT 32

static struct rng rng;

static struct window window_new(void)
{
    struct window w;
    window_init(&w);
    rng_seed(&rng, 1);
    return w;
}

static void succeed(struct window *w, int times)
{
    while (times-- > 0)
        window_succeeded(w, LIMIT);
}

static void starts_small_and_grows_by_one_per_round(void)
{
    struct window w = window_new();
    CHECK_EQ_INT(window_allowance(&w, LIMIT, 0), 4);
    CHECK_EQ_INT(window_allowance(&w, 2, 0), 2);
    CHECK_EQ_INT(window_allowance(&w, 1, 0), 1);
    succeed(&w, 5);
    CHECK_EQ_INT(window_allowance(&w, LIMIT, 0), 5);
    succeed(&w, 6);
    CHECK_EQ_INT(window_allowance(&w, LIMIT, 0), 6);
    succeed(&w, 1000);
    CHECK_EQ_INT(window_allowance(&w, LIMIT, 0), 32);
    window_succeeded(&w, 8); /* MaxConcurrency was lowered */
    CHECK_EQ_INT(window_allowance(&w, LIMIT, 0), 8);
    CHECK_ABORTS((void)window_allowance(&w, 0, 0));
}

static void shrinks_once_per_cohort(void)
{
    struct window w = window_new();
    succeed(&w, 1000);
    CHECK(!window_failed(&w, 0, &rng));
    CHECK_EQ_INT(window_allowance(&w, LIMIT, 0), 22);
    for (int i = 0; i < 20; i++) /* the others of the 32 tell the same story */
        CHECK(!window_failed(&w, 0, &rng));
    CHECK_EQ_INT(window_allowance(&w, LIMIT, 0), 22);
    succeed(&w, 1);
    CHECK(window_allowance(&w, LIMIT, 0) >= 22);
    for (int i = 0; i < 12; i++)
        CHECK(!window_failed(&w, 0, &rng));
    CHECK_EQ_INT(window_allowance(&w, LIMIT, 0), 15); /* a new cohort, a new shrink */
}

static void suspends_after_a_failed_cohort(void)
{
    for (int size = 1; size <= 32; size++) {
        struct window w = window_new();
        w.size = size;
        int failures = 1;
        while (!window_failed(&w, 1000, &rng))
            failures++;
        CHECK_EQ_INT(failures, size > 3 ? size : 3);
        CHECK(w.suspended);
        CHECK_EQ_INT(window_allowance(&w, LIMIT, 1000), 0);
    }
}

static void one_success_breaks_the_run(void)
{
    struct window w = window_new();
    for (int i = 0; i < 100; i++) {
        for (int j = 0; j < 2; j++)
            CHECK(!window_failed(&w, 0, &rng));
        succeed(&w, 1);
    }
    CHECK(!w.suspended);
    CHECK(window_allowance(&w, LIMIT, 0) >= 1);
}

static struct window suspended_at(int64_t now)
{
    struct window w = window_new();
    while (!window_failed(&w, now, &rng))
        continue;
    return w;
}

static void probes_are_spaced_and_double(void)
{
    static const int64_t waits[] = {5000, 10000, 20000, 40000, 60000, 60000, 60000};
    int64_t now = 1000;
    struct window w = suspended_at(now);
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        int64_t spacing = w.probe_mono_ms - now;
        CHECK(spacing >= waits[i]);
        CHECK(spacing <= waits[i] + waits[i] / 20 && spacing <= WINDOW_SUSPEND_LAST_MS);
        CHECK_EQ_INT(window_allowance(&w, LIMIT, w.probe_mono_ms - 1), 0);
        CHECK_EQ_INT(window_allowance(&w, LIMIT, w.probe_mono_ms), 1);
        now = w.probe_mono_ms + 10000;        /* it timed out */
        CHECK(!window_failed(&w, now, &rng)); /* suspended already */
    }
}

static void stragglers_change_nothing(void)
{
    struct window w = suspended_at(1000);
    int64_t probe = w.probe_mono_ms;
    for (int i = 0; i < 10; i++)
        CHECK(!window_failed(&w, 2000, &rng));
    CHECK_EQ_INT(w.probe_mono_ms, probe);
    CHECK_EQ_INT(w.probe_wait_ms, WINDOW_SUSPEND_FIRST_MS);
}

static void reopens_slowly(void)
{
    struct window w = suspended_at(1000);
    CHECK(!window_failed(&w, w.probe_mono_ms, &rng));
    window_succeeded(&w, LIMIT);
    CHECK(!w.suspended);
    CHECK_EQ_INT(window_allowance(&w, LIMIT, 0), 1);
    succeed(&w, 1);
    CHECK_EQ_INT(window_allowance(&w, LIMIT, 0), 2);
    CHECK(!window_failed(&w, 5000, &rng));
    CHECK(!window_failed(&w, 5000, &rng));
    CHECK_EQ_INT(window_allowance(&w, LIMIT, 5000), 1);
    CHECK(window_failed(&w, 5000, &rng)); /* it was a false spring */
    CHECK_EQ_INT(w.probe_wait_ms, WINDOW_SUSPEND_FIRST_MS);
}

/* What window.c claims of receivers that fail at random. */
static double mean_size(uint64_t failures_in_1000)
{
    struct window w = window_new();
    double sum = 0;
    for (int i = 0; i < 200000; i++) {
        if (rng_below(&rng, 1000) < failures_in_1000)
            (void)window_failed(&w, 0, &rng);
        else
            window_succeeded(&w, LIMIT);
        sum += w.size;
    }
    return sum / 200000;
}

static void settles_by_the_rate_of_failures(void)
{
    double one = mean_size(10), five = mean_size(50);
    if (!CHECK(one > 15 && one < 23) || !CHECK(five > 7 && five < 11))
        printf("    1 %%: %.1f, 5 %%: %.1f\n", one, five);
}

int main(void)
{
    RUN(starts_small_and_grows_by_one_per_round);
    RUN(shrinks_once_per_cohort);
    RUN(suspends_after_a_failed_cohort);
    RUN(one_success_breaks_the_run);
    RUN(probes_are_spaced_and_double);
    RUN(stragglers_change_nothing);
    RUN(reopens_slowly);
    RUN(settles_by_the_rate_of_failures);
    return check_done("window");
}
