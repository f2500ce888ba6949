/* One or several threads that run tasks which may block. Owners take turns (base/turns.h); an
 * owner's tasks run one at a time, in the order posted. Post to its executor from any thread. */
#pragma once

#include "base/executor.h"

struct worker;

#define WORKER_THREADS_MOST 16

struct worker *worker_start(const char *thread_name); /* at most 15 characters */
struct worker *worker_start_several(const char *thread_name, int threads);
struct executor *worker_executor(struct worker *worker);
/* Runs all posted tasks, then ends its threads. Not from the worker itself. */
void worker_stop(struct worker *worker);
