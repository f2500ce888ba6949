/* When a callback becomes dead, and why. */
#include "check.h"
#include "schedule_fixture.h"

#include "domain/callback_end.h"

#define SECOND INT64_C(1000)
#define HOUR (3600 * SECOND)
#define START INT64_C(1763726400000)
#define MONO INT64_C(1000000)

static struct callback_end fail(struct schedule_place *place, enum attempt_class class, bool final)
{
    struct schedule s = schedule_parsed("5s,1m");
    struct rng rng = rng_seeded(1);
    struct failed_attempt attempt = {
        .class = class, .is_final_status = final, .ended_ms = place->due_ms};
    return callback_end_of_attempt(&s, place, &attempt, &rng);
}

static void an_attempt_ends_it_by_its_answer_or_its_number(void)
{
    struct schedule_place place = {.due_ms = START};
    struct callback_end end = fail(&place, ATTEMPT_STATUS, false);
    CHECK_EQ_INT(end.state, CALLBACK_PENDING);
    CHECK_EQ_INT(end.reason, REASON_NONE);
    CHECK_EQ_INT(place.slot, 1);
    struct schedule_place before = place;
    end = fail(&place, ATTEMPT_GONE, false);
    CHECK_EQ_INT(end.state, CALLBACK_DEAD);
    CHECK_EQ_INT(end.reason, REASON_GONE);
    CHECK_EQ_INT(place.due_ms, before.due_ms);
    end = fail(&place, ATTEMPT_STATUS, true);
    CHECK_EQ_INT(end.state, CALLBACK_DEAD);
    CHECK_EQ_INT(end.reason, REASON_FINAL_STATUS);
    end = fail(&place, ATTEMPT_TIMEOUT, false);
    CHECK_EQ_INT(end.state, CALLBACK_PENDING);
    end = fail(&place, ATTEMPT_TIMEOUT, false);
    CHECK_EQ_INT(end.state, CALLBACK_DEAD);
    CHECK_EQ_INT(end.reason, REASON_ATTEMPTS);
    CHECK_EQ_INT(place.failed_attempts, 3);
}

static void final_statuses_are_those_that_were_added(void)
{
    struct final_statuses none = {0}, s = {0};
    static const int32_t listed[] = {400, 404, 463, 464, 499};
    for (size_t i = 0; i < ARRAY_LEN(listed); i++)
        final_statuses_add(&s, listed[i]);
    final_statuses_add(&s, 404); /* twice is once */
    for (int32_t status = -1; status < 1000; status++) {
        bool want = false;
        for (size_t i = 0; i < ARRAY_LEN(listed); i++)
            want |= status == listed[i];
        CHECK_EQ_INT(final_statuses_have(&s, status), want);
        CHECK(!final_statuses_have(&none, status));
    }
}

static void giving_up_takes_the_schedule_once_more_and_a_day_at_most(void)
{
    struct schedule s = schedule_parsed("5s,1m");
    CHECK_EQ_INT(callback_give_up_ms(&s), 65 * SECOND);
    s = schedule_parsed(SCHEDULE_DEFAULT);
    CHECK_EQ_INT(callback_give_up_ms(&s), 24 * HOUR);
}

/* Last slot 65 s after it was due; given up 65 s later, if the lane was down all the time. */
static bool given_up(int64_t due_ms, const struct lane_downtime *d, int64_t at_ms)
{
    struct schedule s = schedule_parsed("5s,1m");
    struct schedule_place place = {.due_ms = due_ms};
    return callback_is_given_up(&s, &place, d, START + at_ms, MONO + at_ms);
}

static void a_lane_that_is_down_gives_up_after_the_last_slot(void)
{
    struct lane_downtime d = {0};
    CHECK(!given_up(START, &d, 1000 * HOUR)); /* it is not down */
    lane_downtime_begin(&d, MONO - HOUR);
    lane_downtime_begin(&d, MONO); /* it is already */
    CHECK(!given_up(START, &d, 130 * SECOND - 1));
    CHECK(given_up(START, &d, 130 * SECOND));
    d = (struct lane_downtime){.is_down = true, .since_mono_ms = MONO + 100 * SECOND};
    CHECK(!given_up(START, &d, 165 * SECOND - 1)); /* down for too short a time */
    CHECK(given_up(START, &d, 165 * SECOND));
}

static void a_wall_clock_that_jumps_gives_up_nothing(void)
{
    struct schedule s = schedule_parsed("5s,1m");
    struct schedule_place place = {.due_ms = START};
    struct lane_downtime d = {.is_down = true, .since_mono_ms = MONO};
    CHECK(!callback_is_given_up(&s, &place, &d, START + 40 * 24 * HOUR, MONO + SECOND));
}

static void what_was_due_when_the_lane_reopened_is_tried_first(void)
{
    struct lane_downtime d = {0};
    lane_downtime_end(&d, START); /* it was not down: nothing reopens */
    CHECK_EQ_INT(d.reopened_ms, 0);
    lane_downtime_begin(&d, MONO);
    lane_downtime_end(&d, START + 10 * SECOND);
    CHECK(!d.is_down);
    lane_downtime_begin(&d, MONO + 10 * SECOND);
    CHECK(!given_up(START, &d, 1000 * HOUR));
    CHECK(!given_up(START + 10 * SECOND, &d, 1000 * HOUR));
    CHECK(given_up(START + 10 * SECOND + 1, &d, 1000 * HOUR)); /* tried since, or due since */
}

static struct clock_lead lead_of(const char *text)
{
    struct schedule s = schedule_parsed(text);
    struct clock_lead l = {0};
    callback_set_lead_window(&l, &s, MONO);
    return l;
}

/* The wall clock is set forward while the lane is down: the place was stored by the clock before.
 */
static bool given_up_after_jump(int64_t jump_ms, int64_t at_ms)
{
    struct schedule s = schedule_parsed("5s,1m");
    struct schedule_place place = {.due_ms = START};
    struct lane_downtime d = {.is_down = true, .since_mono_ms = MONO - 1000 * HOUR};
    struct clock_lead lead = lead_of("5s,1m");
    clock_lead_add(&lead, jump_ms, MONO + SECOND);
    int64_t lead_ms = clock_lead_ms(&lead, MONO + at_ms);
    return callback_is_given_up(&s, &place, &d, START + at_ms + jump_ms - lead_ms, MONO + at_ms);
}

static void a_jump_gives_up_no_earlier_and_no_later(void)
{
    static const int64_t jumps[] = {2 * SECOND, 50 * SECOND, HOUR, 40 * 24 * HOUR, 1000000 * HOUR};
    for (size_t i = 0; i < ARRAY_LEN(jumps); i++) {
        CHECK(!given_up_after_jump(jumps[i], 2 * SECOND));
        CHECK(!given_up_after_jump(jumps[i], 130 * SECOND - 1));
        CHECK(given_up_after_jump(jumps[i], 130 * SECOND));
    }
}

static void another_schedule_forgets_no_jump(void)
{
    struct schedule shorter = schedule_parsed("1s"), longer = schedule_parsed(SCHEDULE_DEFAULT);
    struct clock_lead l = lead_of("5s,1m");
    clock_lead_add(&l, 1000, MONO);
    callback_set_lead_window(&l, &shorter, MONO + 10 * SECOND);
    CHECK_EQ_INT(clock_lead_ms(&l, MONO + 12 * SECOND), 1000);
    callback_set_lead_window(&l, &longer, MONO + 12 * SECOND);
    CHECK_EQ_INT(clock_lead_ms(&l, MONO + 100 * HOUR), 1000);
    CHECK_EQ_INT(clock_lead_ms(&l, MONO + 200 * HOUR), 0);
}

/* A clock that is stepped each minute for a year: giving up is delayed only by the latest steps. */
static void small_jumps_keep_no_downtime_from_ending(void)
{
    struct clock_lead l = lead_of(SCHEDULE_DEFAULT);
    int64_t now_mono_ms = MONO, window_ms = CLOCK_LEAD_PARTS * l.part_ms;
    for (int64_t i = 0; i < 365 * 24 * 60; i++) {
        now_mono_ms += 60 * SECOND;
        clock_lead_add(&l, 2 * SECOND, now_mono_ms);
    }
    CHECK(window_ms >= 4 * 24 * HOUR && window_ms < 5 * 24 * HOUR);
    CHECK(clock_lead_ms(&l, now_mono_ms) <= window_ms / 30 * 5 / 4 + 2 * SECOND);
}

int main(void)
{
    RUN(a_jump_gives_up_no_earlier_and_no_later);
    RUN(another_schedule_forgets_no_jump);
    RUN(small_jumps_keep_no_downtime_from_ending);
    RUN(final_statuses_are_those_that_were_added);
    RUN(an_attempt_ends_it_by_its_answer_or_its_number);
    RUN(giving_up_takes_the_schedule_once_more_and_a_day_at_most);
    RUN(a_lane_that_is_down_gives_up_after_the_last_slot);
    RUN(a_wall_clock_that_jumps_gives_up_nothing);
    RUN(what_was_due_when_the_lane_reopened_is_tried_first);
    return check_done("callback_end");
}
