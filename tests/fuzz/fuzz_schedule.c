/* Retry schedules from the command line, and any life a callback may have under them: its place
 * only moves forward, its next try is never in the past, and it ends. */
#include "fuzz.h"

#include "domain/schedule.h"

static void live(const struct schedule *s, const uint8_t *steps, size_t n)
{
    struct rng rng;
    rng_seed(&rng, n);
    int64_t now = 0;
    struct schedule_place place = {0};
    for (int32_t tries = 1;; tries++) {
        struct schedule_place before = place;
        int64_t late_ms = n ? (int64_t)steps[(size_t)tries % n] << (steps[0] % 32) : 0;
        now = (now > place.due_ms ? now : place.due_ms) + late_ms;
        if (late_ms % 3 == 0)
            (void)schedule_pass(s, &place, now);
        int64_t asked_ms = schedule_retry_after_ms(late_ms);
        enum schedule_next next = schedule_fail(s, &place, now, now + asked_ms, &rng);
        ASSERT(place.failed_attempts == tries);
        ASSERT(place.slot >= before.slot);
        ASSERT(place.slot <= s->steps || place.slot >= SCHEDULE_BEYOND);
        if (next == SCHEDULE_DEAD)
            break;
        ASSERT(place.due_ms >= now);
        ASSERT(place.slot > before.slot || before.slot >= s->steps);
        ASSERT(tries <= s->steps);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    /* The schedule, a NUL, and how late each try is. */
    struct str rest = {(const char *)data, data_bytes};
    if (data_bytes == 0)
        return 0;
    struct str text = str_cut(&rest, '\0');
    struct schedule s;
    const char *why = NULL;
    if (schedule_parse(text, &s, &why))
        live(&s, (const uint8_t *)rest.p, rest.n);
    else
        ASSERT(why != NULL);
    return 0;
}
