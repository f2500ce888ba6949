/* The clock that retention uses; see retention_clock.h. Which old data is dropped by it:
 * store/sqlite/purge.c and store/postgresql/pg_keeper.c. */
#include "domain/retention_clock.h"

#include "base/arithmetic.h"

/* The time that this process has run has passed, whatever the wall clock says. */
static void live_on(struct retention_clock *c, int64_t wall_ms, int64_t mono_ms)
{
    int64_t lived_ms = c->seen_mono_ms != 0 ? mono_ms - c->seen_mono_ms : 0;
    c->seen_mono_ms = mono_ms;
    if (c->at_ms != 0 && c->at_ms < wall_ms)
        c->at_ms = int64_min(c->at_ms + lived_ms, wall_ms);
}

enum retention_move retention_step(struct retention_clock *c, int64_t wall_ms, int64_t newest_ms,
                                   int64_t mono_ms)
{
    int64_t to_ms = int64_min(wall_ms, newest_ms);
    live_on(c, wall_ms, mono_ms);
    if (c->at_ms == 0)
        c->at_ms = newest_ms != 0 ? to_ms : wall_ms;
    if (to_ms <= c->at_ms || to_ms - c->at_ms <= RETENTION_LEAP_MS) {
        c->doubt_mono_ms = 0;
        if (to_ms > c->at_ms)
            c->at_ms = to_ms;
        return RETENTION_GOES_ON;
    }
    if (c->doubt_mono_ms == 0) {
        c->doubt_mono_ms = mono_ms;
        return RETENTION_DOUBTS;
    }
    if (mono_ms - c->doubt_mono_ms < RETENTION_DOUBT_MS)
        return RETENTION_GOES_ON;
    c->doubt_mono_ms = 0;
    c->at_ms = to_ms;
    return RETENTION_BELIEVES;
}

int64_t retention_now_ms(const struct retention_clock *c, int64_t wall_ms)
{
    return int64_min(c->at_ms, wall_ms);
}
