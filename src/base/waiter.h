/* Waits on the calling thread for something asynchronous: an executor whose tasks wake the waiter.
 * For threads that may block (control, main, start-up), never for a loop. */
#pragma once

#include "base/check.h"
#include "base/executor.h"

#include <semaphore.h>
#include <stdbool.h>

struct waiter {
    struct executor executor; /* the reply_to of a request */
    sem_t woken;
};

void waiter_init(struct waiter *w);
void waiter_free(struct waiter *w);
/* A task's `run` that only wakes. */
void waiter_wake(struct task *task);
/* Returns once for each posted task. */
void waiter_wait(struct waiter *w);
/* Does not wait. False: no task is posted. */
MUST_CHECK bool waiter_try(struct waiter *w);
