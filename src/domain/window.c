/* The adaptive window of a lane; the window for an event's Timestamp is in intake/item.c. The
 * numbers and their reasons:
 *
 * - Start 4. A healthy receiver's first burst is not served one by one, and a dead one is found out
 *   with four connections.
 * - +1/n per success: n successes, about one round trip, widen it by one. This is slow enough to
 *   notice the first refusals before the receiver is overloaded.
 * - x0.7 per failure, but once per cohort: attempts that were under way together met the same
 *   receiver and count once, not n times. After a shrink as many outcomes as the window was wide
 *   must pass before the next. With this hysteresis a receiver that fails 1 % at random settles
 *   near 19 at a time, one that fails 5 % near 9; halving, or a shrink for every failure, would
 *   hold such receivers at 2 to 5 for errors that do not depend on load.
 * - Suspended when as many attempts fail in a row as the window was wide when the run began, and at
 *   least 3: a small window must not give up over one bad answer; of a wide one the whole cohort
 *   must fail, since five of thirty-two in a row may be a hiccup.
 * - Probes while suspended: 5 s, 10 s, 20 s, 40 s, 60 s, 60 s ... after the last failure, each up
 *   to 5 % later so that lanes which failed together do not probe together, never above 60.
 * - Reopens at 1 and grows from there, so that a receiver that recovers is not hit by the
 *   backlog. */
#include "domain/window.h"

#include "base/check.h"

#include <stdint.h>

void window_init(struct window *w)
{
    *w = (struct window){.size = WINDOW_START};
}

int32_t window_allowance(const struct window *w, int32_t limit, int64_t now_mono_ms)
{
    ASSERT(limit > 0);
    if (w->suspended)
        return now_mono_ms >= w->probe_mono_ms ? 1 : 0;
    int32_t whole = (int32_t)w->size;
    return whole < limit ? whole : limit;
}

static void outcome_seen(struct window *w)
{
    if (w->shrink_after > 0)
        w->shrink_after--;
}

void window_succeeded(struct window *w, int32_t limit)
{
    ASSERT(limit > 0);
    w->failed_run = 0;
    if (w->suspended) {
        *w = (struct window){.size = 1};
        return;
    }
    outcome_seen(w);
    w->size += 1 / w->size;
    if (w->size > limit) /* the app may have lowered the limit meanwhile */
        w->size = limit;
}

static void wait_for_probe(struct window *w, int64_t wait_ms, int64_t now_mono_ms, struct rng *rng)
{
    w->probe_wait_ms = wait_ms < WINDOW_SUSPEND_LAST_MS ? wait_ms : WINDOW_SUSPEND_LAST_MS;
    int64_t later = (int64_t)rng_below(rng, (uint64_t)(w->probe_wait_ms / 20 + 1));
    int64_t spacing = w->probe_wait_ms + later;
    if (spacing > WINDOW_SUSPEND_LAST_MS)
        spacing = WINDOW_SUSPEND_LAST_MS;
    w->probe_mono_ms = now_mono_ms + spacing;
}

static void shrink(struct window *w)
{
    if (w->shrink_after > 0)
        return;
    w->shrink_after = (int32_t)w->size;
    w->size *= WINDOW_SHRINK;
    if (w->size < 1)
        w->size = 1;
}

void window_probe_now(struct window *w, int64_t now_mono_ms)
{
    if (w->suspended && w->probe_mono_ms > now_mono_ms)
        w->probe_mono_ms = now_mono_ms;
}

bool window_failed(struct window *w, int64_t now_mono_ms, struct rng *rng)
{
    if (w->suspended) {
        /* before the time of the next probe this attempt was under way at the suspension: it says
         * nothing new */
        if (now_mono_ms >= w->probe_mono_ms)
            wait_for_probe(w, w->probe_wait_ms * 2, now_mono_ms, rng);
        return false;
    }
    if (w->failed_run == 0) {
        int32_t whole = (int32_t)w->size;
        w->run_cohort = whole > WINDOW_SUSPEND_FAILURES ? whole : WINDOW_SUSPEND_FAILURES;
    }
    outcome_seen(w);
    w->failed_run++;
    if (w->failed_run >= w->run_cohort) {
        w->suspended = true;
        wait_for_probe(w, WINDOW_SUSPEND_FIRST_MS, now_mono_ms, rng);
        return true;
    }
    shrink(w);
    return false;
}
