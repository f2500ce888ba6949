/* Work handed between threads.
 *
 * Whoever posts a task keeps it valid until `run` is called; from then `run` owns it. Tasks
 * posted by one thread to one executor run in the order posted, on the executor's own thread.
 * An executor runs what was posted before it stops; posting after that is a programmer error. */
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
