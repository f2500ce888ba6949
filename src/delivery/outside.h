/* What a dispatcher needs of the world besides the store: time, chance, a way to run things
 * later, and exchanges. The real one stands on a loop and a sender (outside_loop.c); a test or a
 * simulator is a second implementation. Everything but the executor is for the dispatcher's own
 * thread. */
#pragma once

#include "base/env.h"
#include "base/executor.h"
#include "send/send.h"

struct outside {
    struct executor *executor; /* tasks posted here run on the dispatcher's thread */
    struct rng *rng;
    int64_t (*wall_ms)(struct outside *outside);
    int64_t (*mono_ms)(struct outside *outside);
    /* As sender_start and sender_cancel. */
    void (*start)(struct outside *outside, struct exchange *x);
    void (*cancel)(struct outside *outside, struct exchange *x);
    /* Wakes the thread at that time, so that a tick ends; replaces the time set before.
     * INT64_MAX: not at all. */
    void (*wake_at)(struct outside *outside, int64_t mono_ms);

    /* Set by the dispatcher; run after every batch of work on the thread, the last thing before it
     * waits. */
    void (*on_tick_end)(void *context);
    void *context;
};

/* On a loop and a sender, which must outlive it (the loop keeps its hook for ever; free the
 * outside after the loop has stopped running). */
struct outside *outside_on_loop(struct loop *loop, struct sender *sender);
void outside_on_loop_free(struct outside *outside);
