/* A queue under a mutex: its tasks are slow (an fsync, a file), so the lock is never the cost. */
#include "base/worker.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/turns.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define WORKER_MAGIC 0x3089E240u

struct worker {
    uint32_t magic;
    struct executor executor;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task *first, *last;
    uint32_t served_last; /* the owner */
    bool stopping;
};

static void post(struct executor *executor, struct task *task)
{
    struct worker *w = CONTAINER_OF(executor, struct worker, executor);
    CHECK_MAGIC(w, WORKER_MAGIC);
    task->next = NULL;
    pthread_mutex_lock(&w->lock);
    if (w->last)
        w->last->next = task;
    else
        w->first = task;
    w->last = task;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* With the lock held: takes the task whose turn it is out of the list; NULL: there is none. */
static struct task *take_next(struct worker *w)
{
    struct task *before = NULL, *chosen = w->first, *chosen_before = NULL;
    for (struct task *t = w->first; t; before = t, t = t->next) {
        if (turn_is_before(w->served_last, t->owner, chosen->owner)) {
            chosen = t;
            chosen_before = before;
        }
    }
    if (!chosen)
        return NULL;
    if (chosen_before)
        chosen_before->next = chosen->next;
    else
        w->first = chosen->next;
    if (w->last == chosen)
        w->last = chosen_before;
    w->served_last = chosen->owner;
    return chosen;
}

static struct task *take(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->first && !w->stopping)
        pthread_cond_wait(&w->changed, &w->lock);
    struct task *task = take_next(w);
    pthread_mutex_unlock(&w->lock);
    return task;
}

static void *run(void *context)
{
    struct worker *w = context;
    struct task *task;
    while ((task = take(w)))
        task->run(task);
    return NULL;
}

struct worker *worker_start(const char *thread_name)
{
    struct worker *w = xcalloc(1, sizeof *w);
    w->magic = WORKER_MAGIC;
    w->executor.post = post;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    ASSERT(pthread_create(&w->thread, NULL, run, w) == 0);
    pthread_setname_np(w->thread, thread_name);
    return w;
}

struct executor *worker_executor(struct worker *w)
{
    CHECK_MAGIC(w, WORKER_MAGIC);
    return &w->executor;
}

void worker_stop(struct worker *w)
{
    CHECK_MAGIC(w, WORKER_MAGIC);
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
    w->magic = 0;
    free(w);
}
