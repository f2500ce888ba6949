/* The cap, against a count of every window of 24 h there is. */
#include "domain/cap.h"

#include "base/check.h"
#include "base/env.h"
#include "domain/clock.h"

#include "check.h"

#define TIMES_MOST 12

/* By its words: no 24 h that hold the event may, with it, hold more payments than the cap. Only
 * windows that begin at one of the times can be the fullest. */
static bool allows_by_words(uint32_t cap, int64_t at_ms, const int64_t *times, size_t count)
{
    for (size_t i = 0; i <= count; i++) {
        int64_t from_ms = i < count ? times[i] : at_ms;
        if (from_ms > at_ms || at_ms >= from_ms + DAY_MS)
            continue;
        size_t held = 1;
        for (size_t j = 0; j < count; j++)
            held += times[j] >= from_ms && times[j] < from_ms + DAY_MS;
        if (held > cap)
            return false;
    }
    return cap > 0;
}

static void agrees_with_every_window(void)
{
    struct rng rng;
    rng_seed(&rng, 1);
    for (int round = 0; round < 20000; round++) {
        int64_t times[TIMES_MOST];
        size_t count = rng_below(&rng, TIMES_MOST + 1);
        int64_t step_ms = DAY_MS / (int64_t)(1 + rng_below(&rng, 8)); /* so that edges meet */
        int64_t at_ms = 50 * DAY_MS + (int64_t)rng_below(&rng, 20) * step_ms;
        uint32_t cap = (uint32_t)rng_below(&rng, 8);
        for (size_t i = 0; i < count; i++)
            times[i] = 50 * DAY_MS + (int64_t)rng_below(&rng, 20) * step_ms;
        cap_sort(times, count);
        struct payments paid = {times, count};
        bool want = allows_by_words(cap, at_ms, times, count);
        if (!CHECK_EQ_INT(cap_allows(cap, at_ms, &paid), want))
            return;
        /* Some of them say the same, if they are enough. */
        size_t near = 0;
        for (size_t i = 0; i < count; i++)
            if (times[i] > at_ms - DAY_MS && times[i] < at_ms + DAY_MS &&
                near < cap_payments_most(cap))
                times[near++] = times[i];
        paid.count = near;
        if (!CHECK_EQ_INT(cap_allows(cap, at_ms, &paid), want))
            return;
    }
}

static void a_day_apart_is_another_window(void)
{
    int64_t times[] = {10 * DAY_MS, 11 * DAY_MS - 1};
    struct payments paid = {times, 2};
    CHECK(!cap_allows(2, 10 * DAY_MS, &paid));
    CHECK(!cap_allows(2, 11 * DAY_MS - 1, &paid));
    CHECK(cap_allows(2, 11 * DAY_MS, &paid));
    CHECK(cap_allows(2, 10 * DAY_MS - 1, &paid));
    CHECK(!cap_allows(0, 0, &(struct payments){0}));
    CHECK(cap_allows(1, 0, &(struct payments){0}));
}

int main(void)
{
    RUN(agrees_with_every_window);
    RUN(a_day_apart_is_another_window);
    return check_done("cap");
}
