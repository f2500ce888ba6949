/* How many callbacks of a lane may be under way: the adaptive window. Pure state; times are
 * monotonic milliseconds given by the caller.
 *
 * Starts at WINDOW_START, grows by 1/n per success up to the app's MaxConcurrency, and shrinks
 * on failures that speak of the receiver's health. */
#pragma once

#include "base/env.h"

#include <stdbool.h>

#define WINDOW_START 4
#define WINDOW_SUSPEND_FIRST_MS 5000
#define WINDOW_SUSPEND_LAST_MS 60000

struct window {
    double size;        /* current allowance, 1..limit */
    int32_t failed_run; /* health failures since the last success */
    bool suspended;
    int64_t probe_mono_ms; /* suspended: when the next single try may start */
    int64_t probe_wait_ms;
};

void window_init(struct window *w);
/* How many may be in flight now (0: none until probe time). */
int32_t window_allowance(const struct window *w, int32_t limit, int64_t now_mono_ms);
void window_succeeded(struct window *w, int32_t limit);
/* True when this failure suspended the lane. in_flight: others still under way. */
bool window_failed(struct window *w, int64_t now_mono_ms, struct rng *rng);
