/* What a clock that was set forward is ahead by, and until when that counts. */
#include "check.h"

#include "base/clock_lead.h"

#define PART INT64_C(1000)
#define WINDOW (CLOCK_LEAD_PARTS * (PART - 1))
#define WALL INT64_C(1763726400000)

static struct clock_lead lead_of(int64_t now_mono_ms)
{
    struct clock_lead l = {0};
    clock_lead_set_window(&l, WINDOW, now_mono_ms);
    return l;
}

static void a_jump_counts_for_a_window_and_not_for_much_longer(void)
{
    struct clock_lead l = lead_of(7);
    CHECK_EQ_INT(l.part_ms, PART);
    CHECK_EQ_INT(clock_lead_ms(&l, 7), 0);
    clock_lead_add(&l, 7, 200 * PART);
    clock_lead_add(&l, 30, 201 * PART - 1);
    clock_lead_add(&l, 100, 203 * PART);
    CHECK_EQ_INT(clock_lead_ms(&l, 203 * PART), 137);
    CHECK_EQ_INT(clock_lead_ms(&l, 205 * PART - 1), 137);
    CHECK_EQ_INT(clock_lead_ms(&l, 205 * PART), 100);
    CHECK_EQ_INT(clock_lead_ms(&l, 208 * PART - 1), 100);
    CHECK_EQ_INT(clock_lead_ms(&l, 208 * PART), 0);
    CHECK_EQ_INT(clock_lead_ms(&l, 1000000000 * PART), 0);
}

static void a_time_before_the_latest_jump_counts_as_its_part(void)
{
    struct clock_lead l = lead_of(0);
    clock_lead_add(&l, 7, 200 * PART);
    CHECK_EQ_INT(clock_lead_ms(&l, 199 * PART), 7);
    CHECK_EQ_INT(clock_lead_ms(&l, 0), 7);
    clock_lead_add(&l, 30, 199 * PART);
    CHECK_EQ_INT(clock_lead_ms(&l, 205 * PART - 1), 37);
    CHECK_EQ_INT(clock_lead_ms(&l, 205 * PART), 0);
}

static void sums_saturate(void)
{
    struct clock_lead l = lead_of(0);
    for (int64_t i = 0; i < 50; i++)
        clock_lead_add(&l, INT64_MAX / 3, i * PART);
    CHECK(clock_lead_ms(&l, 50 * PART) > INT64_MAX / 8);
    CHECK(clock_lead_ms(&l, 50 * PART) < INT64_MAX / 2);
}

static void a_look_notices_jumps_forward_alone(void)
{
    struct clock_lead l = lead_of(50);
    CHECK_EQ_INT(clock_lead_look(&l, WALL, 50), WALL);
    CHECK_EQ_INT(clock_lead_look(&l, WALL + 1050, 100), WALL + 1050); /* steered, not set */
    CHECK_EQ_INT(clock_lead_look(&l, WALL + 3200, 200), WALL + 3200 - 2050);
    CHECK_EQ_INT(clock_lead_look(&l, WALL + 3300, 300), WALL + 3300 - 2050);
    CHECK_EQ_INT(clock_lead_look(&l, WALL + 400, 400), WALL + 400 - 2050); /* put back */
    CHECK_EQ_INT(clock_lead_look(&l, WALL + 500, 500), WALL + 500 - 2050);
    CHECK_EQ_INT(clock_lead_look(&l, WALL + 5 * PART, 5 * PART), WALL + 5 * PART);
}

int main(void)
{
    RUN(a_jump_counts_for_a_window_and_not_for_much_longer);
    RUN(a_time_before_the_latest_jump_counts_as_its_part);
    RUN(sums_saturate);
    RUN(a_look_notices_jumps_forward_alone);
    return check_done("clock_lead");
}
