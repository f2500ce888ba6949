/* A semaphore dressed as an executor; see waiter.h. */
#include "base/waiter.h"

#include "base/check.h"

#include <errno.h>

static void post(struct executor *executor, struct task *task)
{
    struct waiter *w = CONTAINER_OF(executor, struct waiter, executor);
    task->run(task);
    sem_post(&w->woken);
}

void waiter_init(struct waiter *w)
{
    w->executor.post = post;
    ASSERT(sem_init(&w->woken, 0, 0) == 0);
}

void waiter_free(struct waiter *w)
{
    sem_destroy(&w->woken);
}

void waiter_wake(struct task *task)
{
    (void)task;
}

void waiter_wait(struct waiter *w)
{
    while (sem_wait(&w->woken) != 0)
        ASSERT(errno == EINTR);
}

bool waiter_try(struct waiter *w)
{
    return sem_trywait(&w->woken) == 0;
}
