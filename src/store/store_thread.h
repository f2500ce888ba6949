/* The threads of a store, each of which takes requests from a queue. */
#pragma once

#include "store/queue.h"

struct store_thread {
    struct queue *queue; /* threads with a common queue are adjacent in their array */
    void *(*main)(void *arg);
    void *arg;
    pthread_t thread;
};

void store_threads_start(struct store_thread *threads, size_t count);
/* Stops them in their order, after the requests that are queued. */
void store_threads_stop(struct store_thread *threads, size_t count);
