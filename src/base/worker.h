/* A thread that runs tasks one after the other, or several such threads: for what may block and is
 * not a store's. Owners take turns (base/turns.h); of one owner tasks run in the order posted, one
 * at a time. Its executor may be posted to from any thread. */
#pragma once

#include "base/executor.h"

struct worker;

#define WORKER_THREADS_MOST 16

struct worker *worker_start(const char *thread_name); /* at most 15 characters */
struct worker *worker_start_several(const char *thread_name, int threads);
struct executor *worker_executor(struct worker *worker);
/* Runs what was posted before, then ends its threads. Not from the worker itself. */
void worker_stop(struct worker *worker);
