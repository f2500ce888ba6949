/* Starting and stopping the threads of a store. */
#include "store/store_thread.h"

#include "base/check.h"

void store_threads_start(struct store_thread *threads, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ASSERT(pthread_create(&threads[i].thread, NULL, threads[i].main, threads[i].arg) == 0);
}

/* Any thread of a queue may take a stop request, so the threads of one queue stop together. */
void store_threads_stop(struct store_thread *threads, size_t count)
{
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && threads[end].queue == threads[i].queue; end++)
            queue_post(threads[end].queue, request_new(REQUEST_STOP, NULL));
        for (size_t j = i; j < end; j++)
            ASSERT(pthread_join(threads[j].thread, NULL) == 0);
    }
}
