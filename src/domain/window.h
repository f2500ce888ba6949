/* The adaptive window: how many callbacks of a lane may be under way, whether the lane is
 * suspended, and when it is tried again. A host that cannot be reached at all:
 * delivery/destination.h. Pure state; times are monotonic milliseconds from the caller.
 *
 * It starts at WINDOW_START, grows by 1/n per success up to the app's MaxConcurrency, and shrinks
 * by WINDOW_SHRINK on failures that concern the receiver's health (attempt_counts_against_lane), at
 * most once per cohort. If a whole cohort fails, at least WINDOW_SUSPEND_FAILURES in a row, the
 * lane is suspended: then one attempt at a time, WINDOW_SUSPEND_FIRST_MS apart and doubling to
 * WINDOW_SUSPEND_LAST_MS. The first success reopens it at size 1. window.c gives the reasons. */
#pragma once

#include "base/env.h"

#include <stdbool.h>

#define WINDOW_START 4
#define WINDOW_SHRINK 0.7
#define WINDOW_SUSPEND_FAILURES 3
#define WINDOW_SUSPEND_FIRST_MS 5000
#define WINDOW_SUSPEND_LAST_MS MINUTE_MS

struct window {
    double size;          /* current allowance, 1..limit */
    int32_t failed_run;   /* failures that count, since the last success */
    int32_t run_cohort;   /* the window's whole size when that run began */
    int32_t shrink_after; /* outcomes that must pass before it may shrink again */
    bool suspended;
    int64_t probe_mono_ms; /* suspended: when the next single attempt may start */
    int64_t probe_wait_ms;
};

void window_init(struct window *w);
/* How many may be under way now (0: none until the probe time). */
int32_t window_allowance(const struct window *w, int32_t limit, int64_t now_mono_ms);
void window_succeeded(struct window *w, int32_t limit);
/* Suspended: makes the next attempt due now at the latest. */
void window_probe_now(struct window *w, int64_t now_mono_ms);
/* Only for failures that count. True if this one has suspended the lane (others may be under
 * way). */
bool window_failed(struct window *w, int64_t now_mono_ms, struct rng *rng);
