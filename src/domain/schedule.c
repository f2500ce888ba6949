/* When a callback is tried again.
 *
 * A schedule is a list of waits; slot 0 is the first attempt, slot k+1 the attempt after wait k:
 *
 *     slot 0 --wait 0--> slot 1 --wait 1--> slot 2 ... --wait n-1--> slot n, the last
 *
 * A place only moves to the right. Every failed attempt moves it by one; slots whose time passed
 * without an attempt (the lane was suspended, the daemon was down) are skipped. After its last slot
 * a callback still has its remaining attempts: they follow each other after the schedule's first
 * wait. callback_end.h decides when it is given up without them. */
#include "domain/schedule.h"

#define MAX_STEP_MS (30 * DAY_MS)
#define BEYOND_MOST_S 2000000000 /* 63 years, so that a slot fits into 32 bits */

static int64_t unit_ms(struct str unit)
{
    if (str_is(unit, "ms"))
        return 1;
    if (str_is(unit, "s"))
        return 1000;
    if (str_is(unit, "m"))
        return MINUTE_MS;
    if (str_is(unit, "h"))
        return HOUR_MS;
    return str_is(unit, "d") ? DAY_MS : 0;
}

/* 0: not a wait. Waits that are too long are returned as MAX_STEP_MS + 1. */
static int64_t parse_wait(struct str s)
{
    int64_t value = 0;
    size_t i = 0;
    for (; i < s.n && char_is_digit(s.p[i]); i++)
        if (value <= MAX_STEP_MS)
            value = value * 10 + (s.p[i] - '0');
    int64_t unit = i == 0 ? 0 : unit_ms((struct str){s.p + i, s.n - i});
    if (unit != 0 && value > MAX_STEP_MS / unit)
        return MAX_STEP_MS + 1;
    return value * unit;
}

bool schedule_parse(struct str text, struct schedule *ret, const char **ret_why)
{
    struct schedule s = {0};
    struct str rest = text;
    if (str_trim(text).n == 0) {
        *ret_why = "a retry schedule has at least one wait, as in 5s,1m,30m";
        return false;
    }
    while (rest.p) {
        int64_t ms = parse_wait(str_trim(str_cut(&rest, ',')));
        if (ms == 0) {
            *ret_why = "a wait is a whole number above 0 and ms, s, m, h or d, as in 5s,1m,30m";
            return false;
        }
        if (ms > MAX_STEP_MS) {
            *ret_why = "a wait is at most 30d";
            return false;
        }
        if (s.steps == SCHEDULE_MAX_STEPS) {
            *ret_why = "a retry schedule has at most 64 waits";
            return false;
        }
        s.step_ms[s.steps++] = ms;
    }
    *ret = s;
    return true;
}

static int64_t with_jitter(int64_t step_ms, struct rng *rng)
{
    int64_t tenth = step_ms / 10;
    return step_ms - tenth + (int64_t)rng_below(rng, (uint64_t)(2 * tenth + 1));
}

static void check_place(const struct schedule *s, const struct schedule_place *place)
{
    ASSERT(s->steps > 0 && s->steps <= SCHEDULE_MAX_STEPS);
    ASSERT(place->slot >= 0 && place->failed_attempts >= 0);
}

/* When the last slot was; INT64_MAX: the place is at an earlier slot. */
static int64_t last_slot_ms(const struct schedule *s, const struct schedule_place *place)
{
    if (place->slot >= SCHEDULE_BEYOND)
        return place->due_ms - (int64_t)(place->slot - SCHEDULE_BEYOND) * 1000;
    return place->slot >= s->steps ? place->due_ms : INT64_MAX;
}

/* Waits for an attempt that is left after the last slot, which a resend may have used early. */
static void wait_beyond(const struct schedule *s, struct schedule_place *place, int64_t now_ms,
                        int64_t due_ms)
{
    int64_t last_ms = last_slot_ms(s, place);
    int64_t beyond_s = (due_ms - (last_ms < now_ms ? last_ms : now_ms)) / 1000;
    place->slot = SCHEDULE_BEYOND + (int32_t)(beyond_s < BEYOND_MOST_S ? beyond_s : BEYOND_MOST_S);
    place->due_ms = due_ms;
}

bool schedule_pass(const struct schedule *s, struct schedule_place *place, int64_t now_ms)
{
    check_place(s, place);
    while (place->slot < s->steps && now_ms - place->due_ms >= s->step_ms[place->slot])
        place->due_ms += s->step_ms[place->slot++];
    return last_slot_ms(s, place) <= now_ms;
}

int64_t schedule_ended_ms(const struct schedule *s, const struct schedule_place *place,
                          int64_t now_ms)
{
    struct schedule_place passed = *place;
    return schedule_pass(s, &passed, now_ms) ? last_slot_ms(s, &passed) : INT64_MAX;
}

enum schedule_next schedule_fail(const struct schedule *s, struct schedule_place *place,
                                 int64_t now_ms, int64_t not_before_ms, struct rng *rng)
{
    check_place(s, place);
    place->failed_attempts++;
    if (place->failed_attempts > s->steps)
        return SCHEDULE_DEAD;
    if (now_ms - place->due_ms > SCHEDULE_ON_TIME_MS)
        (void)schedule_pass(s, place, now_ms); /* the last slot is handled below */
    else if (place->slot < s->steps)
        place->due_ms = now_ms;
    int64_t least_ms = not_before_ms > now_ms ? not_before_ms : now_ms;
    if (place->slot >= s->steps) { /* slots were skipped, so attempts are left */
        int64_t due_ms = now_ms + with_jitter(s->step_ms[0], rng);
        wait_beyond(s, place, now_ms, due_ms > least_ms ? due_ms : least_ms);
        return SCHEDULE_RETRY;
    }
    place->due_ms += with_jitter(s->step_ms[place->slot++], rng);
    if (place->due_ms < least_ms)
        place->due_ms = least_ms;
    return SCHEDULE_RETRY;
}

int64_t schedule_wait_most_ms(const struct schedule *s, const struct schedule_place *place)
{
    check_place(s, place);
    if (place->slot == 0)
        return 0;
    /* a restart with a shorter schedule may leave a place beyond its end */
    int64_t step_ms = s->step_ms[(place->slot < s->steps ? place->slot : s->steps) - 1];
    if (place->slot >= s->steps && step_ms < s->step_ms[0])
        step_ms = s->step_ms[0];
    return step_ms + step_ms / 10;
}

int64_t schedule_retry_after_ms(int64_t asked_ms)
{
    ASSERT(asked_ms >= 0);
    return asked_ms < SCHEDULE_RETRY_AFTER_MOST_MS ? asked_ms : SCHEDULE_RETRY_AFTER_MOST_MS;
}
