/* Work handed between threads.
 *
 * Whoever posts a task keeps it valid until `run` is called; from then `run` owns it. One task runs
 * at a time, on the executor's own thread, in the order in which one thread posted them
 * (base/worker.h lets owners take turns instead, and may have several threads). An executor runs
 * what was posted before it stops; posting after that is a programmer error. An executor without a
 * thread of its own says so where it is declared: its tasks run at once, on whichever thread posts
 * them, even two at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct task {
    void (*run)(struct task *task);
    struct task *next; /* the executor's */
    uint32_t owner;    /* for executors whose tasks take turns by owner, see base/worker.h */
};

struct executor {
    void (*post)(struct executor *executor, struct task *task); /* any thread, never blocks */
};

static inline void executor_post(struct executor *executor, struct task *task)
{
    executor->post(executor, task);
}
