/* The time that retention goes by: no clock that is wrong for less than a day purges anything. */
#include "check.h"
#include "domain/clock.h"
#include "domain/retention_clock.h"

#define T0 INT64_C(1763726400000)
#define HOUR (3600 * INT64_C(1000))

/* A process that has just begun, on a store whose retention clock is there. */
static struct retention_clock begun_at(int64_t at_ms)
{
    return (struct retention_clock){.at_ms = at_ms};
}

static void follows_what_is_accepted(void)
{
    struct retention_clock c = {0};
    CHECK_EQ_INT(retention_step(&c, T0, 0, 1), RETENTION_GOES_ON);
    CHECK_EQ_INT(retention_now_ms(&c, T0), T0); /* an empty store has nothing to purge */
    for (int h = 0; h < 100; h++) {
        int64_t now_ms = T0 + h * HOUR;
        CHECK_EQ_INT(retention_step(&c, now_ms, now_ms, 1 + h * HOUR), RETENTION_GOES_ON);
        CHECK_EQ_INT(retention_now_ms(&c, now_ms), now_ms);
    }
}

static void an_idle_store_grows_older_while_it_runs(void)
{
    struct retention_clock c = begun_at(T0);
    for (int h = 0; h <= 100 * 24; h++)
        (void)retention_step(&c, T0 + h * HOUR, T0, 1 + h * HOUR);
    CHECK_EQ_INT(c.at_ms, T0 + 100 * DAY_MS);
    struct retention_clock later = begun_at(c.at_ms); /* and keeps its age over a restart */
    (void)retention_step(&later, c.at_ms + HOUR, T0, 5);
    CHECK_EQ_INT(later.at_ms, T0 + 100 * DAY_MS);
}

static void a_wrong_clock_purges_nothing(void)
{
    struct retention_clock c = begun_at(T0);
    int64_t wrong_ms = T0 + 40 * DAY_MS;
    CHECK_EQ_INT(retention_step(&c, wrong_ms, T0, 1), RETENTION_GOES_ON); /* nothing is accepted */
    CHECK_EQ_INT(retention_step(&c, wrong_ms, wrong_ms, 1), RETENTION_DOUBTS);
    for (int h = 1; h < 24; h++)
        CHECK_EQ_INT(retention_step(&c, wrong_ms + h * HOUR, wrong_ms + h * HOUR, 1 + h * HOUR),
                     RETENTION_GOES_ON);
    CHECK_EQ_INT(retention_now_ms(&c, wrong_ms + DAY_MS), T0 + 23 * HOUR);
    /* It is put right; what was accepted meanwhile stays ahead. */
    CHECK_EQ_INT(retention_step(&c, T0 + DAY_MS, wrong_ms, 1 + DAY_MS), RETENTION_GOES_ON);
    CHECK_EQ_INT(retention_now_ms(&c, T0 + DAY_MS), T0 + DAY_MS);
}

static void a_long_stop_is_believed_after_a_day(void)
{
    struct retention_clock c = begun_at(T0);
    int64_t now_ms = T0 + 40 * DAY_MS;
    CHECK_EQ_INT(retention_step(&c, now_ms, now_ms, 1), RETENTION_DOUBTS);
    CHECK_EQ_INT(retention_step(&c, now_ms + DAY_MS, now_ms + DAY_MS, 1 + DAY_MS),
                 RETENTION_BELIEVES);
    CHECK_EQ_INT(retention_now_ms(&c, now_ms + DAY_MS), now_ms + DAY_MS);
}

static void a_short_stop_needs_no_doubt(void)
{
    struct retention_clock c = begun_at(T0);
    CHECK_EQ_INT(retention_step(&c, T0 + 20 * HOUR, T0 + 20 * HOUR, 1), RETENTION_GOES_ON);
    CHECK_EQ_INT(c.at_ms, T0 + 20 * HOUR);
}

static void a_clock_put_back_purges_less(void)
{
    struct retention_clock c = begun_at(T0);
    (void)retention_step(&c, T0 - 30 * DAY_MS, T0, 1);
    (void)retention_step(&c, T0 - 30 * DAY_MS + HOUR, T0, 1 + HOUR);
    CHECK_EQ_INT(c.at_ms, T0);
    CHECK_EQ_INT(retention_now_ms(&c, T0 - 30 * DAY_MS + HOUR), T0 - 30 * DAY_MS + HOUR);
}

int main(void)
{
    RUN(follows_what_is_accepted);
    RUN(an_idle_store_grows_older_while_it_runs);
    RUN(a_wrong_clock_purges_nothing);
    RUN(a_long_stop_is_believed_after_a_day);
    RUN(a_short_stop_needs_no_doubt);
    RUN(a_clock_put_back_purges_less);
    return check_done("retention_clock");
}
