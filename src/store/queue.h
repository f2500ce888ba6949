/* A queue of requests to one thread of the store: any thread posts, the store's thread takes all
 * that have been posted. */
#pragma once

#include "base/env.h"
#include "store/store_ops.h"

#include <pthread.h>
#include <stdbool.h>

/* A request on its way between threads, with the caller's struct. Allocated when the request is
 * made, freed when it is answered. */
struct request {
    struct request *next;
    enum request_kind kind;
    void *what;             /* the caller's struct, by kind */
    struct page_work *page; /* REQUEST_PAGE */
    int64_t asked_us;       /* timing_now_us() */
    uint64_t id;            /* REQUEST_CALLBACK(S): the event asked for (ids.h); 0: none */
    bool succeeded;         /* REQUEST_APPLIED, and the answer to REQUEST_CHECKPOINT */
    /* REQUEST_INTAKE: how many of its items are decided; above 0 it cannot be refused any more */
    size_t decided;
};

enum request_work {
    WORK_MESSAGE, /* between the threads of one store */
    WORK_CHANGE,
    WORK_OUTCOMES, /* nobody waits for the answer, so the commit may be delayed to take more */
    WORK_PAGE,
    WORK_READ, /* of the API: waits for the read barrier */
    WORK_SCAN, /* a read of many rows (scans.c) */
    WORK_BOOKS,
    WORK_FEED,
};

static inline enum request_work request_work(enum request_kind kind)
{
#define REQUEST_WORK(kind, type, account, work) [REQUEST_##kind] = WORK_##work,
    static const enum request_work works[REQUEST_STOP + 1] = {REQUESTS(REQUEST_WORK)};
#undef REQUEST_WORK
    return works[kind];
}

static inline bool request_is_read(enum request_kind kind)
{
    enum request_work work = request_work(kind);
    return work == WORK_READ || work == WORK_SCAN;
}

/* The account that the request is about; 0: none. */
uint32_t request_account(const struct request *r);

struct request_list {
    struct request *first, *last;
};

void request_list_add(struct request_list *list, struct request *r);
void request_list_add_first(struct request_list *list, struct request *r);
struct request *request_list_take(struct request_list *list); /* NULL: empty */
/* moves all of `more` to the end of `to` */
void request_list_join(struct request_list *to, struct request_list *more);
/* true if it has only outcomes, or nothing */
bool request_list_is_outcomes(const struct request_list *list);
struct request *request_new(enum request_kind kind, void *what);
/* Sets the status of the caller's struct and posts its `done`. Only for kinds up to REQUEST_FEED,
 * not for those between the store's threads. */
void request_reply(enum request_kind kind, void *what, enum store_status status);
void request_finish(struct request *r, enum store_status status); /* request_reply, then frees r */

/* How many threads may take turns on one queue. Turns go by account: a second request of an account
 * is not begun while one is under way, so that no account occupies all threads. */
#define QUEUE_TAKERS 2

struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    struct request_list list;
    /* a thread is in queue_wait_batch: outcomes do not wake it */
    bool batching;
    /* set when queue_take_turn is used; only then do the members below mean anything: */
    bool by_turns;
    uint32_t served_last;             /* the account */
    uint32_t under_way[QUEUE_TAKERS]; /* 0: of none */
};

void queue_init(struct queue *q);
void queue_destroy(struct queue *q);
void queue_post(struct queue *q, struct request *r);
/* Waits at most wait_ms for a request. True if there is one. */
bool queue_has_any(struct queue *q, int64_t wait_ms);
/* Waits until timing_now_us() is until_us or another request than outcomes arrives. */
void queue_wait_batch(struct queue *q, int64_t until_us);
/* Takes all requests, after waiting for the first at most wait_ms (negative: without end). */
struct request_list queue_take_all(struct queue *q, int64_t wait_ms);
/* Takes one request, after waiting at most wait_ms (negative: without end); NULL: none came. */
struct request *queue_take(struct queue *q, int64_t wait_ms);
/* The same for one of several threads, by its number `taker`. Takes a request of the account whose
 * turn it is (base/turns.h) and leaves accounts alone of which another thread has a request under
 * way. The call says that this thread has finished the request it took before. REQUEST_STOP comes
 * last. */
struct request *queue_take_turn(struct queue *q, size_t taker, int64_t wait_ms);
/* The thread has finished its request and does something else before it takes the next one. */
void queue_end_turn(struct queue *q, size_t taker);
