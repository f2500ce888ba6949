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
    pthread_t threads[WORKER_THREADS_MOST];
    int thread_count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task *first, *last;
    uint32_t served_last;                  /* the owner */
    uint32_t running[WORKER_THREADS_MOST]; /* owners of the running tasks, in no order */
    int running_count;
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

static bool is_running(const struct worker *w, uint32_t owner)
{
    for (int i = 0; i < w->running_count; i++)
        if (w->running[i] == owner)
            return true;
    return false;
}

/* With the lock held: removes the task whose turn it is; NULL: there is none. */
static struct task *take_next(struct worker *w)
{
    struct task *before = NULL, *chosen = NULL, *chosen_before = NULL;
    for (struct task *t = w->first; t; before = t, t = t->next) {
        if (is_running(w, t->owner) ||
            (chosen && !turn_is_before(w->served_last, t->owner, chosen->owner)))
            continue;
        chosen = t;
        chosen_before = before;
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
    w->running[w->running_count++] = chosen->owner;
    return chosen;
}

static struct task *take(struct worker *w)
{
    struct task *task;
    pthread_mutex_lock(&w->lock);
    while (!(task = take_next(w)) && (w->first || !w->stopping))
        pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
    return task;
}

/* Lets the owner's next task run; at the end tells the other threads that none is left. */
static void note_ran(struct worker *w, uint32_t owner)
{
    int i = 0;
    pthread_mutex_lock(&w->lock);
    while (w->running[i] != owner)
        i++;
    w->running[i] = w->running[--w->running_count];
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static void *run(void *context)
{
    struct worker *w = context;
    struct task *task;
    while ((task = take(w))) {
        uint32_t owner = task->owner;
        task->run(task);
        note_ran(w, owner);
    }
    return NULL;
}

struct worker *worker_start_several(const char *thread_name, int threads)
{
    struct worker *w = xcalloc(1, sizeof *w);
    ASSERT(threads >= 1 && threads <= WORKER_THREADS_MOST);
    w->magic = WORKER_MAGIC;
    w->executor.post = post;
    w->thread_count = threads;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    for (int i = 0; i < threads; i++) {
        ASSERT(pthread_create(&w->threads[i], NULL, run, w) == 0);
        pthread_setname_np(w->threads[i], thread_name);
    }
    return w;
}

struct worker *worker_start(const char *thread_name)
{
    return worker_start_several(thread_name, 1);
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
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->thread_count; i++)
        pthread_join(w->threads[i], NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
    w->magic = 0;
    free(w);
}
