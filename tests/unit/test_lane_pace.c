/* When a lane may start next: the receiver's pause and the app's rate. */
#include "delivery/lane_pace.h"

#include "check.h"

#define NOW 1000000

static void without_a_rate_it_starts_at_once(void)
{
    struct lane_pace p = {0};
    for (int i = 0; i < 100; i++)
        pace_count_start(&p, 0, NOW);
    CHECK_EQ_INT(pace_next_mono_ms(&p, 0, NOW), NOW);
}

static void a_slow_rate_keeps_starts_apart(void)
{
    struct lane_pace p = {0};
    CHECK_EQ_INT(pace_next_mono_ms(&p, 4, NOW), NOW);
    pace_count_start(&p, 4, NOW);
    CHECK_EQ_INT(pace_next_mono_ms(&p, 4, NOW), NOW + 250);
    CHECK_EQ_INT(pace_next_mono_ms(&p, 0, NOW), NOW); /* it was lifted meanwhile */
    pace_count_start(&p, 4, NOW + 250);
    CHECK_EQ_INT(pace_next_mono_ms(&p, 4, NOW + 250), NOW + 500);
    CHECK_EQ_INT(pace_next_mono_ms(&p, 4, NOW + 60000), NOW + 60000);
}

static int32_t starts_within(struct lane_pace *p, int32_t per_second, int64_t from_ms, int64_t ms)
{
    int32_t count = 0;
    for (int64_t now = from_ms; now < from_ms + ms; now++) {
        for (; pace_next_mono_ms(p, per_second, now) <= now; count++)
            pace_count_start(p, per_second, now);
    }
    return count;
}

static void a_fast_rate_may_catch_up_but_not_save_up(void)
{
    struct lane_pace p = {0};
    int32_t first = starts_within(&p, 1000, NOW, 1000);
    CHECK(first >= 1000 && first <= 1021); /* 20 ms at once, to begin with */
    CHECK_EQ_INT(starts_within(&p, 1000, NOW + 1000, 1000), 1000);
    CHECK_EQ_INT(starts_within(&p, 1000, NOW + 3600000, 1000), first); /* not an hour's */
}

static void a_pause_is_only_ever_prolonged(void)
{
    struct lane_pace p = {0};
    pace_pause(&p, NOW + 5000);
    pace_pause(&p, NOW + 1000);
    CHECK_EQ_INT(pace_next_mono_ms(&p, 0, NOW), NOW + 5000);
    pace_pause(&p, NOW + 9000);
    CHECK_EQ_INT(pace_next_mono_ms(&p, 0, NOW), NOW + 9000);
    CHECK_EQ_INT(pace_next_mono_ms(&p, 0, NOW + 9001), NOW + 9001);
}

static void the_later_of_pause_and_rate_counts(void)
{
    struct lane_pace p = {0};
    pace_count_start(&p, 1, NOW);
    pace_pause(&p, NOW + 500);
    CHECK_EQ_INT(pace_next_mono_ms(&p, 1, NOW), NOW + 1000);
    pace_pause(&p, NOW + 1500);
    CHECK_EQ_INT(pace_next_mono_ms(&p, 1, NOW), NOW + 1500);
}

int main(void)
{
    RUN(without_a_rate_it_starts_at_once);
    RUN(a_slow_rate_keeps_starts_apart);
    RUN(a_fast_rate_may_catch_up_but_not_save_up);
    RUN(a_pause_is_only_ever_prolonged);
    RUN(the_later_of_pause_and_rate_counts);
    return check_done("lane_pace");
}
