/* The time that retention goes by: what is purged is gone for good, so one start with a clock that
 * is weeks ahead must purge nothing that is not old.
 *
 * The retention clock never passes the wall clock. It goes on
 *  - with the monotonic clock, while a process runs: so an idle store grows older, too;
 *  - to the newest acceptance, if that is at most RETENTION_LEAP_MS ahead: the way it usually
 * moves;
 *  - to the newest acceptance further ahead, once a process has run for RETENTION_DOUBT_MS and it
 *    still was: after a long stop, or when the wall clock was wrong, nobody can tell which. Whoever
 *    set the clock wrong has a day to set it right.
 * It never goes back; nothing is purged by more than the wall clock, however far ahead it is.
 * docs/operators/reference.md tells operators. */
#pragma once

#include <stdint.h>

#define RETENTION_LEAP_MS (24 * 3600 * INT64_C(1000))
#define RETENTION_DOUBT_MS (24 * 3600 * INT64_C(1000))

struct retention_clock {
    int64_t at_ms;         /* kept in the store; 0: it is new, and begins with the wall clock */
    int64_t seen_mono_ms;  /* the latest step of this process; 0: none */
    int64_t doubt_mono_ms; /* since when acceptances are too far ahead; 0: they are not */
};

enum retention_move { RETENTION_GOES_ON, RETENTION_DOUBTS, RETENTION_BELIEVES };

/* newest_ms: the newest acceptance, 0: none. The first answer of a doubt is RETENTION_DOUBTS. */
enum retention_move retention_step(struct retention_clock *c, int64_t wall_ms, int64_t newest_ms,
                                   int64_t mono_ms);
/* The time to purge by. */
int64_t retention_now_ms(const struct retention_clock *c, int64_t wall_ms);
