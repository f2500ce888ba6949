/* The retry schedule: every attempt of its own, no stretching, Retry-After, odd texts. */
#include "domain/schedule.h"

#include "base/buf.h"

#include "check.h"
#include "schedule_fixture.h"

#define SECOND 1000
#define HOUR (INT64_C(3600) * SECOND)
#define START INT64_C(1763726400000)

static void the_default_is_twelve_attempts_over_73_hours(void)
{
    struct schedule s = schedule_parsed(SCHEDULE_DEFAULT);
    static const int64_t seconds[] = {5,    60,    300,   900,   1800,  3600,
                                      7200, 18000, 36000, 86400, 108000};
    REQUIRE(s.steps == ARRAY_LEN(seconds));
    int64_t sum = 0;
    for (int i = 0; i < s.steps; i++) {
        CHECK_EQ_INT(s.step_ms[i], seconds[i] * SECOND);
        sum += s.step_ms[i];
    }
    CHECK_EQ_INT(sum / HOUR, 72);
    CHECK_EQ_INT(sum, 72 * HOUR + 51 * 60 * SECOND + 5 * SECOND);
}

static void reads_every_unit(void)
{
    struct schedule s = schedule_parsed(" 250ms , 5s,1m,\t2h,1d");
    CHECK_EQ_INT(s.steps, 5);
    CHECK_EQ_INT(s.step_ms[0], 250);
    CHECK_EQ_INT(s.step_ms[1], 5000);
    CHECK_EQ_INT(s.step_ms[2], 60000);
    CHECK_EQ_INT(s.step_ms[3], 7200000);
    CHECK_EQ_INT(s.step_ms[4], 86400000);
    CHECK_EQ_INT(schedule_parsed("30d").step_ms[0], 30 * 24 * HOUR);
}

static void refuses_odd_texts(void)
{
    static const char *const bad[] = {"",
                                      " ",
                                      ",",
                                      "5s,",
                                      ",5s",
                                      "5s,,1m",
                                      "5",
                                      "s",
                                      "5 s",
                                      "5S",
                                      "5sec",
                                      "-5s",
                                      "0s",
                                      "1.5s",
                                      "31d",
                                      "5s 1m",
                                      "5s;1m",
                                      "1e3s",
                                      "+5s",
                                      "0x5s",
                                      "99999999999999999999999s",
                                      "9223372036854775807d"};
    struct schedule untouched = {.steps = 42};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const char *why = NULL;
        if (!CHECK(!schedule_parse(str_of(bad[i]), &untouched, &why)) || !CHECK(why && *why))
            printf("    for \"%s\"\n", bad[i]);
    }
    CHECK_EQ_INT(untouched.steps, 42);
    struct buf many = {0};
    for (int i = 0; i < 64; i++)
        buf_add_c(&many, i ? ",1s" : "1s");
    struct schedule s;
    const char *why = NULL;
    CHECK(schedule_parse(buf_str(&many), &s, &why));
    buf_add_c(&many, ",1s");
    CHECK(!schedule_parse(buf_str(&many), &untouched, &why));
    buf_free(&many);
}

static void a_dead_receiver_gets_every_attempt(void)
{
    struct schedule s = schedule_parsed(SCHEDULE_DEFAULT);
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct rng rng = rng_seeded(seed);
        struct schedule_place place = {.due_ms = START};
        int64_t now = START;
        for (int attempt = 1; attempt <= 12; attempt++) {
            int64_t began = now;
            now += 10 * SECOND; /* a time-out longer than the first wait skips nothing */
            enum schedule_next next = schedule_fail(&s, &place, now, 0, &rng);
            CHECK_EQ_INT(place.failed_attempts, attempt);
            CHECK_EQ_INT(next, attempt == 12 ? SCHEDULE_DEAD : SCHEDULE_RETRY);
            if (attempt == 12)
                break;
            int64_t wait = place.due_ms - now, step = s.step_ms[attempt - 1];
            CHECK(wait >= step - step / 10 && wait <= step + step / 10);
            CHECK_EQ_INT(place.slot, attempt);
            CHECK(place.due_ms > began);
            now = place.due_ms;
        }
    }
}

static void jitter_uses_its_whole_range(void)
{
    struct schedule s = schedule_parsed("100s,1h");
    struct rng rng = rng_seeded(7);
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < 20000; i++) {
        struct schedule_place place = {.due_ms = START};
        CHECK_EQ_INT(schedule_fail(&s, &place, START, 0, &rng), SCHEDULE_RETRY);
        int64_t wait = place.due_ms - START;
        least = wait < least ? wait : least;
        most = wait > most ? wait : most;
    }
    CHECK(least >= 90 * SECOND && least < 90 * SECOND + 50);
    CHECK(most <= 110 * SECOND && most > 110 * SECOND - 50);
}

static void suspension_passes_over_slots(void)
{
    struct schedule s = schedule_parsed("5s,1m,5m");
    struct schedule_place place = {.failed_attempts = 1, .slot = 1, .due_ms = START};
    CHECK(!schedule_pass(&s, &place, START - 1));
    CHECK_EQ_INT(place.slot, 1);
    CHECK(!schedule_pass(&s, &place, START + 59 * SECOND));
    CHECK_EQ_INT(place.slot, 1);
    CHECK(!schedule_pass(&s, &place, START + 60 * SECOND));
    CHECK_EQ_INT(place.slot, 2);
    CHECK_EQ_INT(place.due_ms, START + 60 * SECOND); /* overdue still */
    CHECK(!schedule_pass(&s, &place, START + 359 * SECOND));
    CHECK(schedule_pass(&s, &place, START + 360 * SECOND)); /* the last slot has come */
    CHECK_EQ_INT(place.slot, 3);
    CHECK_EQ_INT(place.failed_attempts, 1); /* no attempt was made */
    CHECK(schedule_pass(&s, &place, START + 1000 * HOUR));
    CHECK_EQ_INT(place.slot, 3);
}

static void the_last_slot_is_known_after_more_tries(void)
{
    struct schedule s = schedule_parsed("5s,1m");
    struct rng rng = rng_seeded(3);
    struct schedule_place place = {.due_ms = START};
    CHECK_EQ_INT(schedule_ended_ms(&s, &place, START + 65 * SECOND - 1), INT64_MAX);
    CHECK_EQ_INT(schedule_ended_ms(&s, &place, START + HOUR), START + 65 * SECOND);
    for (int i = 1; i <= 2; i++) {
        int64_t now = START + i * HOUR;
        CHECK_EQ_INT(schedule_fail(&s, &place, now, now + HOUR / 2, &rng), SCHEDULE_RETRY);
        CHECK_EQ_INT(place.due_ms, now + HOUR / 2);
        CHECK_EQ_INT(schedule_ended_ms(&s, &place, now), START + 65 * SECOND);
    }
    CHECK_EQ_INT(schedule_fail(&s, &place, START + 3 * HOUR, 0, &rng), SCHEDULE_DEAD);
    /* A resend has used the last slot before its time. */
    place = (struct schedule_place){.failed_attempts = 1, .slot = 2, .due_ms = START + HOUR};
    CHECK_EQ_INT(schedule_fail(&s, &place, START, 0, &rng), SCHEDULE_RETRY);
    CHECK(place.due_ms < START + HOUR);
    CHECK_EQ_INT(schedule_ended_ms(&s, &place, START + SECOND) / 1000, START / 1000);
}

/* Tried once in a while by a suspended lane, its last slot passes when its schedule says, not
 * later; the tries that it has left follow each other without long waits. */
static void lateness_never_stretches_the_schedule(void)
{
    struct schedule s = schedule_parsed(SCHEDULE_DEFAULT);
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct rng rng = rng_seeded(seed);
        struct schedule_place place = {.due_ms = START};
        int64_t now = START, passed_ms = 0;
        int tries = 0, late = 0;
        for (;;) {
            if (passed_ms)
                now = place.due_ms;
            else
                now += 7 * HOUR + (int64_t)rng_below(&rng, 5 * (uint64_t)HOUR);
            if (now < place.due_ms)
                continue;
            if (schedule_pass(&s, &place, now) && !passed_ms)
                passed_ms = now;
            tries++;
            late += passed_ms != 0;
            if (schedule_fail(&s, &place, now, 0, &rng) == SCHEDULE_DEAD)
                break;
        }
        CHECK_EQ_INT(tries, 12);
        CHECK(late > 1);
        /* 73 h, the jitter of the last waits, and one gap between two tries of the lane */
        CHECK(passed_ms - START <= 73 * HOUR + 7 * HOUR + 12 * HOUR);
        CHECK(passed_ms - START >= 60 * HOUR);
        CHECK(now - passed_ms <= 12 * 5500);
    }
}

static void a_late_failure_waits_from_when_it_was_due(void)
{
    struct schedule s = schedule_parsed("10s,10h,10h");
    struct rng rng = rng_seeded(3);
    struct schedule_place place = {.failed_attempts = 1, .slot = 1, .due_ms = START};
    CHECK_EQ_INT(schedule_fail(&s, &place, START + 4 * HOUR, 0, &rng), SCHEDULE_RETRY);
    CHECK_EQ_INT(place.slot, 2);
    CHECK(place.due_ms >= START + 9 * HOUR && place.due_ms <= START + 11 * HOUR);
    /* Beyond the next slot: that one is passed over. */
    place = (struct schedule_place){.failed_attempts = 1, .slot = 1, .due_ms = START};
    CHECK_EQ_INT(schedule_fail(&s, &place, START + 13 * HOUR, 0, &rng), SCHEDULE_RETRY);
    CHECK_EQ_INT(place.slot, 3);
    CHECK_EQ_INT(place.failed_attempts, 2);
    CHECK(place.due_ms >= START + 19 * HOUR && place.due_ms <= START + 21 * HOUR);
    /* Beyond the last: it has two tries left. */
    int64_t late = START + 21 * HOUR;
    place = (struct schedule_place){.failed_attempts = 1, .slot = 1, .due_ms = START};
    CHECK_EQ_INT(schedule_fail(&s, &place, late, 0, &rng), SCHEDULE_RETRY);
    CHECK_EQ_INT(place.failed_attempts, 2);
    CHECK(place.due_ms >= late + 9 * SECOND && place.due_ms <= late + 11 * SECOND);
    CHECK_EQ_INT(schedule_ended_ms(&s, &place, place.due_ms) / 1000, (START + 20 * HOUR) / 1000);
    CHECK_EQ_INT(schedule_fail(&s, &place, place.due_ms, 0, &rng), SCHEDULE_RETRY);
    CHECK_EQ_INT(schedule_fail(&s, &place, place.due_ms, 0, &rng), SCHEDULE_DEAD);
    CHECK_EQ_INT(place.failed_attempts, 4);
    /* Jitter may put the next slot in the past: it is due now, never before. */
    for (int i = 0; i < 100; i++) {
        place = (struct schedule_place){.slot = 1, .due_ms = START};
        int64_t now = START + 10 * HOUR - SECOND;
        CHECK_EQ_INT(schedule_fail(&s, &place, now, 0, &rng), SCHEDULE_RETRY);
        CHECK(place.due_ms >= now);
    }
}

static void retry_after_holds_back_up_to_a_day(void)
{
    struct schedule s = schedule_parsed("5s,1m,5m");
    struct rng rng = rng_seeded(5);
    struct schedule_place place = {.due_ms = START};
    CHECK_EQ_INT(schedule_retry_after_ms(0), 0);
    CHECK_EQ_INT(schedule_retry_after_ms(HOUR), HOUR);
    CHECK_EQ_INT(schedule_retry_after_ms(24 * HOUR), 24 * HOUR);
    CHECK_EQ_INT(schedule_retry_after_ms(24 * HOUR + 1), 24 * HOUR);

    CHECK_EQ_INT(schedule_fail(&s, &place, START, START + 30 * SECOND, &rng), SCHEDULE_RETRY);
    CHECK_EQ_INT(place.due_ms, START + 30 * SECOND); /* later than 5 s */
    place = (struct schedule_place){.due_ms = START};
    CHECK_EQ_INT(schedule_fail(&s, &place, START, START + SECOND, &rng), SCHEDULE_RETRY);
    CHECK(place.due_ms >= START + 4500); /* the schedule is later */
    place = (struct schedule_place){.slot = 3, .failed_attempts = 3, .due_ms = START};
    CHECK_EQ_INT(schedule_fail(&s, &place, START, START + SECOND, &rng), SCHEDULE_DEAD);
}

/* The operator restarted with fewer waits. */
static void a_shorter_schedule_ends_what_is_beyond_it(void)
{
    struct schedule s = schedule_parsed("5s,1m");
    struct rng rng = rng_seeded(5);
    struct schedule_place place = {.slot = 7, .failed_attempts = 7, .due_ms = START};
    CHECK(!schedule_pass(&s, &place, START - 1));
    CHECK(schedule_pass(&s, &place, START));
    CHECK_EQ_INT(schedule_fail(&s, &place, START, 0, &rng), SCHEDULE_DEAD);
}

static void a_wait_is_at_most_its_step_and_a_tenth(void)
{
    struct schedule s = schedule_parsed("5s,1m");
    struct schedule_place place = {0};
    static const int64_t most[] = {0, 5500, 66000, 66000}; /* the last: beyond a shorter schedule */
    for (; place.slot < (int32_t)ARRAY_LEN(most); place.slot++)
        CHECK_EQ_INT(schedule_wait_most_ms(&s, &place), most[place.slot]);
    struct rng rng = rng_seeded(7);
    for (int i = 0; i < 1000; i++) {
        place = (struct schedule_place){.due_ms = START};
        CHECK_EQ_INT(schedule_fail(&s, &place, START, 0, &rng), SCHEDULE_RETRY);
        CHECK(place.due_ms - START <= schedule_wait_most_ms(&s, &place));
    }
}

static void one_seed_is_one_run(void)
{
    struct schedule s = schedule_parsed(SCHEDULE_DEFAULT);
    struct rng a = rng_seeded(9), b = rng_seeded(9);
    struct schedule_place x = {.due_ms = START}, y = {.due_ms = START};
    for (int i = 0; i < 11; i++) {
        CHECK_EQ_INT(schedule_fail(&s, &x, x.due_ms, 0, &a), SCHEDULE_RETRY);
        CHECK_EQ_INT(schedule_fail(&s, &y, y.due_ms, 0, &b), SCHEDULE_RETRY);
        CHECK_EQ_INT(x.due_ms, y.due_ms);
    }
}

int main(void)
{
    RUN(the_default_is_twelve_attempts_over_73_hours);
    RUN(reads_every_unit);
    RUN(refuses_odd_texts);
    RUN(a_dead_receiver_gets_every_attempt);
    RUN(jitter_uses_its_whole_range);
    RUN(suspension_passes_over_slots);
    RUN(the_last_slot_is_known_after_more_tries);
    RUN(lateness_never_stretches_the_schedule);
    RUN(a_late_failure_waits_from_when_it_was_due);
    RUN(retry_after_holds_back_up_to_a_day);
    RUN(a_shorter_schedule_ends_what_is_beyond_it);
    RUN(a_wait_is_at_most_its_step_and_a_tenth);
    RUN(one_seed_is_one_run);
    return check_done("schedule");
}
