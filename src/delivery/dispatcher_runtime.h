/* What a dispatcher needs besides the store: clocks, random numbers, timers and exchanges. The real
 * runtime uses a loop and a sender (dispatcher_runtime.c); tests and simulators have others. Only
 * the dispatcher's own thread uses it, except for the executor. */
#pragma once

#include "base/env.h"
#include "base/executor.h"
#include "send/send.h"

struct dispatcher_runtime {
    struct executor *executor; /* tasks posted here run on the dispatcher's thread */
    struct rng *rng;
    int64_t (*wall_ms)(struct dispatcher_runtime *runtime);
    int64_t (*mono_ms)(struct dispatcher_runtime *runtime);
    /* Reads the clock: mono_ms is the time of the tick. */
    int64_t (*clock_mono_ms)(struct dispatcher_runtime *runtime);
    /* As sender_start and sender_cancel. */
    void (*start)(struct dispatcher_runtime *runtime, struct exchange *x);
    void (*cancel)(struct dispatcher_runtime *runtime, struct exchange *x);
    /* Sets the time of the next tick; replaces the time set before. INT64_MAX: none. */
    void (*wake_at)(struct dispatcher_runtime *runtime, int64_t mono_ms);

    /* Set by the dispatcher; called after each batch of work on the thread, last before it
     * waits. */
    void (*on_tick_end)(void *context);
    void *context;
};

/* Makes one on a loop and a sender, which must outlive it. The loop keeps its hook; free it only
 * after the loop has stopped running. */
struct dispatcher_runtime *dispatcher_runtime_new(struct loop *loop, struct sender *sender);
void dispatcher_runtime_free(struct dispatcher_runtime *runtime);
