/* A thread that runs tasks one after the other: for what may block and is not a store's. Owners
 * take turns (base/turns.h); of one owner tasks run in the order posted.
 * Its executor may be posted to from any thread. */
#pragma once

#include "base/executor.h"

struct worker;

struct worker *worker_start(const char *thread_name); /* at most 15 characters */
struct executor *worker_executor(struct worker *worker);
/* Runs what was posted before, then ends the thread. Not from the worker itself. */
void worker_stop(struct worker *worker);
