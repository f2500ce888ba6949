/* The clock that retention uses. Purged data is gone for good, so a single start with a clock that
 * is weeks ahead must purge nothing that is not old.
 *
 * The retention clock never passes the wall clock. It advances
 *
 * - with the monotonic clock while a process runs, so that an idle store ages, too;
 * - to the newest acceptance if that is at most RETENTION_LEAP_MS ahead: the usual case;
 * - to a newest acceptance further ahead after a process has run for RETENTION_DOUBT_MS with it:
 *   after a long stop, or after the wall clock was wrong, which cannot be distinguished. An
 *   operator who has set the clock wrong has a day to correct it.
 *
 * It never goes back. Nothing is purged by more than the wall clock, however far ahead the
 * retention clock is. docs/operators/reference.md explains it to operators. The data is purged in
 * store/sqlite/purge.c and store/postgresql/pg_keeper.c. */
#pragma once

#include "base/env.h"

#include <stdint.h>

#define RETENTION_LEAP_MS DAY_MS
#define RETENTION_DOUBT_MS DAY_MS

struct retention_clock {
    int64_t at_ms;         /* stored; 0: new, begins with the wall clock */
    int64_t seen_mono_ms;  /* of this process's last step; 0: none */
    int64_t doubt_mono_ms; /* since when acceptances are too far ahead; 0: they are not */
};

enum retention_move { RETENTION_GOES_ON, RETENTION_DOUBTS, RETENTION_BELIEVES };

/* newest_ms: the newest acceptance, 0: none. The first result of a doubt is RETENTION_DOUBTS. */
enum retention_move retention_step(struct retention_clock *c, int64_t wall_ms, int64_t newest_ms,
                                   int64_t mono_ms);
/* The time to purge by. */
int64_t retention_now_ms(const struct retention_clock *c, int64_t wall_ms);
