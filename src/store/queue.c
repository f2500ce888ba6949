/* A list behind a mutex, with a condition. A thread takes the whole list at once, so that it holds
 * the lock only for a moment. */
#include "store/queue.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/timing.h"
#include "base/turns.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void request_list_add(struct request_list *list, struct request *r)
{
    r->next = NULL;
    if (list->last)
        list->last->next = r;
    else
        list->first = r;
    list->last = r;
}

void request_list_add_first(struct request_list *list, struct request *r)
{
    r->next = list->first;
    list->first = r;
    if (!list->last)
        list->last = r;
}

struct request *request_list_take(struct request_list *list)
{
    struct request *r = list->first;
    if (!r)
        return NULL;
    list->first = r->next;
    if (!list->first)
        list->last = NULL;
    r->next = NULL;
    return r;
}

void request_list_join(struct request_list *to, struct request_list *more)
{
    if (!more->first)
        return;
    if (to->last)
        to->last->next = more->first;
    else
        to->first = more->first;
    to->last = more->last;
    *more = (struct request_list){0};
}

bool request_list_is_outcomes(const struct request_list *list)
{
    const struct request *r = list->first;
    while (r && r->kind == REQUEST_OUTCOMES)
        r = r->next;
    return !r;
}

struct request *request_new(enum request_kind kind, void *what)
{
    struct request *r = xcalloc(1, sizeof *r);
    r->kind = kind;
    r->what = what;
    r->asked_us = timing_now_us();
    return r;
}

void request_reply(enum request_kind kind, void *what, enum store_status status)
{
    switch (kind) {
#define REPLY(kind, type, account, work)                                                           \
    case REQUEST_##kind: {                                                                         \
        struct type *asked = what;                                                                 \
        asked->status = status;                                                                    \
        executor_post(asked->reply_to, &asked->done);                                              \
        return;                                                                                    \
    }
        REQUESTS(REPLY)
#undef REPLY
    default: UNREACHABLE();
    }
}

void request_finish(struct request *r, enum store_status status)
{
    request_reply(r->kind, r->what, status);
    free(r);
}

uint32_t request_account(const struct request *r)
{
    switch (r->kind) {
#define ACCOUNT_OF_NONE(type) 0
#define ACCOUNT_OF_ACCOUNT(type) ((const struct type *)r->what)->account_no
#define ACCOUNT_CASE(kind, type, account, work)                                                    \
    case REQUEST_##kind: return ACCOUNT_OF_##account(type);
        /* NOLINTNEXTLINE(bugprone-branch-clone) kinds without an account are alike */
        REQUESTS(ACCOUNT_CASE)
#undef ACCOUNT_CASE
#undef ACCOUNT_OF_ACCOUNT
#undef ACCOUNT_OF_NONE
    default: return 0;
    }
}

void queue_init(struct queue *q)
{
    pthread_condattr_t attributes;
    ASSERT(pthread_condattr_init(&attributes) == 0);
    ASSERT(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    ASSERT(pthread_mutex_init(&q->mutex, NULL) == 0);
    ASSERT(pthread_cond_init(&q->wake, &attributes) == 0);
    pthread_condattr_destroy(&attributes);
    q->list = (struct request_list){0};
    q->batching = false;
    q->served_last = 0;
    q->by_turns = false;
    memset(q->under_way, 0, sizeof q->under_way);
}

void queue_destroy(struct queue *q)
{
    for (struct request *r; (r = request_list_take(&q->list)) != NULL;)
        free(r); /* a message to a thread that has stopped */
    pthread_cond_destroy(&q->wake);
    pthread_mutex_destroy(&q->mutex);
}

void queue_post(struct queue *q, struct request *r)
{
    ASSERT(pthread_mutex_lock(&q->mutex) == 0);
    /* Signal for the first request only, but with takers by turns for each one: the requests that
     * are there already may have to wait for another taker's account. */
    bool wakes = q->batching ? r->kind != REQUEST_OUTCOMES : !q->list.first || q->by_turns;
    request_list_add(&q->list, r);
    if (wakes)
        pthread_cond_signal(&q->wake);
    ASSERT(pthread_mutex_unlock(&q->mutex) == 0);
}

/* Waits are measured on the system's clock, even if a test gives the store another one. */
static struct timespec deadline_after(int64_t wait_ms)
{
    int64_t at_ms = env_mono_ms(env_real()) + wait_ms;
    return (struct timespec){.tv_sec = (time_t)(at_ms / 1000),
                             .tv_nsec = (long)(at_ms % 1000) * 1000000};
}

/* The caller holds the mutex. */
static void wait_for_any(struct queue *q, int64_t wait_ms)
{
    struct timespec until = deadline_after(wait_ms < 0 ? 0 : wait_ms);
    int code = 0;
    while (!q->list.first && code == 0 && wait_ms != 0)
        code = wait_ms < 0 ? pthread_cond_wait(&q->wake, &q->mutex)
                           : pthread_cond_timedwait(&q->wake, &q->mutex, &until);
}

void queue_wait_batch(struct queue *q, int64_t until_us)
{
    struct timespec until = {.tv_sec = (time_t)(until_us / 1000000),
                             .tv_nsec = (long)(until_us % 1000000) * 1000};
    int code = 0;
    ASSERT(pthread_mutex_lock(&q->mutex) == 0);
    q->batching = true;
    while (code == 0 && request_list_is_outcomes(&q->list))
        code = pthread_cond_timedwait(&q->wake, &q->mutex, &until);
    q->batching = false;
    ASSERT(pthread_mutex_unlock(&q->mutex) == 0);
}

struct request_list queue_take_all(struct queue *q, int64_t wait_ms)
{
    ASSERT(pthread_mutex_lock(&q->mutex) == 0);
    wait_for_any(q, wait_ms);
    struct request_list all = q->list;
    q->list = (struct request_list){0};
    ASSERT(pthread_mutex_unlock(&q->mutex) == 0);
    return all;
}

struct request *queue_take(struct queue *q, int64_t wait_ms)
{
    ASSERT(pthread_mutex_lock(&q->mutex) == 0);
    wait_for_any(q, wait_ms);
    struct request *r = request_list_take(&q->list);
    ASSERT(pthread_mutex_unlock(&q->mutex) == 0);
    return r;
}

bool queue_has_any(struct queue *q, int64_t wait_ms)
{
    ASSERT(pthread_mutex_lock(&q->mutex) == 0);
    wait_for_any(q, wait_ms);
    bool any = q->list.first != NULL;
    ASSERT(pthread_mutex_unlock(&q->mutex) == 0);
    return any;
}

static bool is_under_way(const struct queue *q, uint32_t account)
{
    for (size_t i = 0; i < QUEUE_TAKERS; i++)
        if (account && q->under_way[i] == account)
            return true;
    return false;
}

/* The caller holds the mutex. Returns the request after *ret_before; NULL: none may be taken
 * now. */
static struct request *find_turn(const struct queue *q, struct request **ret_before)
{
    struct request *before = NULL, *found = NULL;
    for (struct request *r = q->list.first; r; before = r, r = r->next) {
        if (is_under_way(q, request_account(r)))
            continue;
        bool first = !found || (found->kind == REQUEST_STOP && r->kind != REQUEST_STOP) ||
                     (r->kind != REQUEST_STOP &&
                      turn_is_before(q->served_last, request_account(r), request_account(found)));
        if (!first)
            continue;
        found = r;
        *ret_before = before;
    }
    return found;
}

static struct request *take_turn(struct queue *q, size_t taker)
{
    struct request *before = NULL, *r = find_turn(q, &before);
    if (!r)
        return NULL;
    if (before)
        before->next = r->next;
    else
        q->list.first = r->next;
    if (q->list.last == r)
        q->list.last = before;
    r->next = NULL;
    q->served_last = q->under_way[taker] = request_account(r);
    return r;
}

void queue_end_turn(struct queue *q, size_t taker)
{
    ASSERT(pthread_mutex_lock(&q->mutex) == 0);
    q->under_way[taker] = 0;
    ASSERT(pthread_cond_broadcast(&q->wake) == 0);
    ASSERT(pthread_mutex_unlock(&q->mutex) == 0);
}

struct request *queue_take_turn(struct queue *q, size_t taker, int64_t wait_ms)
{
    struct timespec until = deadline_after(wait_ms < 0 ? 0 : wait_ms);
    int code = 0;
    ASSERT(taker < QUEUE_TAKERS);
    ASSERT(pthread_mutex_lock(&q->mutex) == 0);
    q->by_turns = true;
    q->under_way[taker] = 0;
    struct request *r;
    while ((r = take_turn(q, taker)) == NULL && code == 0 && wait_ms != 0)
        code = wait_ms < 0 ? pthread_cond_wait(&q->wake, &q->mutex)
                           : pthread_cond_timedwait(&q->wake, &q->mutex, &until);
    ASSERT(pthread_mutex_unlock(&q->mutex) == 0);
    return r;
}
