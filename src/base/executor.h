/* Work handed between threads.
 *
 * Whoever posts a task keeps it valid until `run` is called; then `run` owns it. An executor runs
 * one task at a time, on its own thread, in the order in which each thread posted them
 * (base/worker.h differs: owners take turns, and it may have several threads). An executor runs all
 * posted tasks before it stops; posting later is a programmer error. An executor without a thread,
 * declared as such, runs tasks at once on the posting thread, even two at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct task {
    void (*run)(struct task *task);
    struct task *next; /* the executor's */
    uint32_t owner;    /* for executors whose owners take turns: base/worker.h */
};

struct executor {
    void (*post)(struct executor *executor, struct task *task); /* any thread, never blocks */
};

static inline void executor_post(struct executor *executor, struct task *task)
{
    executor->post(executor, task);
}
