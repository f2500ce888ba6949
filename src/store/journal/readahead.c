/* A ring of a few buffers. The group being visited keeps its buffer until the visitor takes the
 * next one. */
#include "store/journal/readahead.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdlib.h>

#define GROUPS 4

struct readahead {
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t changed;
    struct readahead_group groups[GROUPS];
    size_t put, done; /* counts since the start; the groups between them are the visitor's */
    bool visiting, ended, stopped;
};

struct readahead *readahead_new(void)
{
    struct readahead *a = xcalloc(1, sizeof *a);
    ASSERT(pthread_mutex_init(&a->lock, NULL) == 0);
    ASSERT(pthread_cond_init(&a->changed, NULL) == 0);
    return a;
}

void readahead_free(struct readahead *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < GROUPS; i++)
        free(a->groups[i].frame);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

bool readahead_put(struct readahead *a, struct readahead_group *group)
{
    pthread_mutex_lock(&a->lock);
    while (a->put - a->done == GROUPS && !a->stopped)
        pthread_cond_wait(&a->changed, &a->lock);
    bool wanted = !a->stopped;
    if (wanted) {
        struct readahead_group *to = &a->groups[a->put++ % GROUPS], spare = *to;
        *to = *group;
        *group = spare;
        pthread_cond_signal(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return wanted;
}

static void raise_flag(struct readahead *a, bool *flag)
{
    pthread_mutex_lock(&a->lock);
    *flag = true;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

void readahead_end(struct readahead *a)
{
    raise_flag(a, &a->ended);
}

const struct readahead_group *readahead_take(struct readahead *a)
{
    pthread_mutex_lock(&a->lock);
    if (a->visiting) {
        a->done++;
        pthread_cond_signal(&a->changed);
    }
    while (a->put == a->done && !a->ended)
        pthread_cond_wait(&a->changed, &a->lock);
    a->visiting = a->put > a->done;
    const struct readahead_group *next = a->visiting ? &a->groups[a->done % GROUPS] : NULL;
    pthread_mutex_unlock(&a->lock);
    return next;
}

void readahead_stop(struct readahead *a)
{
    raise_flag(a, &a->stopped);
}
