/* How a lane goes on while this machine cannot make its attempts. */
#include "delivery/lane_backoff.h"

#include "check.h"

#define NOW 1000000

static void alone_it_waits_and_tries_one(void)
{
    struct lane_backoff h = {0};
    CHECK_EQ_INT(backoff_next_mono_ms(&h, 0), 0);
    CHECK_EQ_INT(backoff_allowance(&h, 32), 32);
    backoff_begin(&h, 0, NOW + 1000, NOW);
    CHECK(backoff_waits(&h, NOW + 999));
    CHECK(!backoff_waits(&h, NOW + 1000));
    CHECK_EQ_INT(backoff_next_mono_ms(&h, 0), NOW + 1000);
    CHECK_EQ_INT(backoff_allowance(&h, 32), 1);
}

static void with_connections_it_goes_on_with_as_many(void)
{
    struct lane_backoff h = {0};
    backoff_begin(&h, 7, NOW + 1000, NOW);
    CHECK_EQ_INT(backoff_next_mono_ms(&h, 6), 0);
    CHECK_EQ_INT(backoff_allowance(&h, 32), 7);
    CHECK_EQ_INT(backoff_allowance(&h, 3), 3);
    backoff_begin(&h, 5, NOW + 1500, NOW + 500); /* the time stays */
    CHECK_EQ_INT(backoff_allowance(&h, 32), 5);
    CHECK_EQ_INT(backoff_next_mono_ms(&h, 0), NOW + 1000);
}

static void only_an_attempt_after_the_wait_ends_it(void)
{
    struct lane_backoff h = {0};
    backoff_begin(&h, 7, NOW + 1000, NOW);
    backoff_end(&h, NOW + 999);
    CHECK(h.is_on);
    backoff_end(&h, NOW + 1000);
    CHECK(!h.is_on);
    CHECK_EQ_INT(backoff_allowance(&h, 32), 32);
}

int main(void)
{
    RUN(alone_it_waits_and_tries_one);
    RUN(with_connections_it_goes_on_with_as_many);
    RUN(only_an_attempt_after_the_wait_ends_it);
    return check_done("lane_backoff");
}
