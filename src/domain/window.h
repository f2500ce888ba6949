/* How many callbacks of a lane may be under way: the adaptive window. Pure state; times are
 * monotonic milliseconds given by the caller.
 *
 * Starts at WINDOW_START, grows by 1/n per success up to the app's MaxConcurrency, shrinks by
 * WINDOW_SHRINK on failures that speak of the receiver's health (attempt_counts_against_lane), at
 * most once per cohort. A cohort that fails as a whole, and at least WINDOW_SUSPEND_FAILURES in a
 * row, suspends the lane; then one try at a time, WINDOW_SUSPEND_FIRST_MS apart and doubling to
 * WINDOW_SUSPEND_LAST_MS. The first success reopens it at size 1. window.c says why. */
#pragma once

#include "base/env.h"

#include <stdbool.h>

#define WINDOW_START 4
#define WINDOW_SHRINK 0.7
#define WINDOW_SUSPEND_FAILURES 3
#define WINDOW_SUSPEND_FIRST_MS 5000
#define WINDOW_SUSPEND_LAST_MS 60000

struct window {
    double size;          /* current allowance, 1..limit */
    int32_t failed_run;   /* health failures since the last success */
    int32_t run_cohort;   /* whole callbacks the window allowed when that run began */
    int32_t shrink_after; /* outcomes to let pass before it may shrink again */
    bool suspended;
    int64_t probe_mono_ms; /* suspended: when the next single try may start */
    int64_t probe_wait_ms;
};

void window_init(struct window *w);
/* How many may be in flight now (0: none until probe time). */
int32_t window_allowance(const struct window *w, int32_t limit, int64_t now_mono_ms);
void window_succeeded(struct window *w, int32_t limit);
/* Suspended: the next try is due now, if not before. */
void window_probe_now(struct window *w, int64_t now_mono_ms);
/* True when this failure suspended the lane (others may still be under way). Only for failures
 * that count. */
bool window_failed(struct window *w, int64_t now_mono_ms, struct rng *rng);
