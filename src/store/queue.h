/* Requests handed to one thread of the store: many post, one takes all that is there. */
#pragma once

#include "base/env.h"
#include "store/store.h"

#include <pthread.h>
#include <stdbool.h>

/* One hop-over between threads, around whatever was asked for. Made when it is asked, freed when
 * it is answered. */
struct request {
    struct request *next;
    enum request_kind kind;
    void *what;             /* the asker's struct, by kind */
    struct page_work *page; /* REQUEST_PAGE */
    int64_t asked_us;       /* timing_now_us() */
    uint64_t id;            /* REQUEST_CALLBACK(S): of the event asked for; 0: none */
    size_t decided;         /* REQUEST_INTAKE: of its items; above 0 it can no longer be refused */
};

/* The API's reads, which wait for the read barrier. */
static inline bool request_is_read(enum request_kind kind)
{
    return kind == REQUEST_REPORT || kind == REQUEST_INTRADAY || kind == REQUEST_STATEMENT ||
           kind == REQUEST_COUNT || kind == REQUEST_CALLBACK || kind == REQUEST_CALLBACKS ||
           kind == REQUEST_OBJECTS || kind == REQUEST_WAITING || kind == REQUEST_DELIVERY_STATS;
}

/* Those of them that look at much (scans.c). */
static inline bool request_is_scan(enum request_kind kind)
{
    return kind == REQUEST_STATEMENT || kind == REQUEST_COUNT;
}

/* Nobody waits for its answer: it may wait a moment for others. */
static inline bool request_has_time(enum request_kind kind)
{
    return kind == REQUEST_OUTCOMES;
}

/* Whose it is; 0: nobody's. */
uint32_t request_account(const struct request *r);

struct request_list {
    struct request *first, *last;
};

void request_list_add(struct request_list *list, struct request *r);
void request_list_add_first(struct request_list *list, struct request *r);
struct request *request_list_take(struct request_list *list);               /* NULL: empty */
void request_list_join(struct request_list *to, struct request_list *more); /* empties more */
bool request_list_has_time(const struct request_list *list); /* all of it; an empty one has */
struct request *request_new(enum request_kind kind, void *what);
/* Gives what was asked for its status, and hands it back to its asker's executor. Not for what the
 * store's threads ask of each other. */
void request_reply(enum request_kind kind, void *what, enum store_status status);
void request_finish(struct request *r, enum store_status status); /* the same, and frees r */

/* Threads of one queue whose requests take turns by account: while one of an account is under way
 * another is not begun, so that no account has all of them. */
#define QUEUE_TAKERS 2

struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    struct request_list list;
    bool dozing;                      /* in queue_doze: what has time wakes nobody */
    bool by_turns;                    /* queue_take_turn is used; then: */
    uint32_t served_last;             /* the account */
    uint32_t under_way[QUEUE_TAKERS]; /* 0: of none */
};

void queue_init(struct queue *q);
void queue_destroy(struct queue *q);
void queue_post(struct queue *q, struct request *r);
/* Whether anything is there, after waiting for something at most wait_ms. */
bool queue_has_any(struct queue *q, int64_t wait_ms);
/* Waits until timing_now_us() is until_us, or something is there that has no time. */
void queue_doze(struct queue *q, int64_t until_us);
/* Everything that is there, waiting for something at most wait_ms (negative: for ever). */
struct request_list queue_take_all(struct queue *q, int64_t wait_ms);
/* One request, waiting at most wait_ms (negative: for ever); NULL: none came. */
struct request *queue_take(struct queue *q, int64_t wait_ms);
/* The same for one thread of several, by its number: of the account whose turn it is
 * (base/turns.h), without those that another thread has a request of under way. What this thread
 * took before is done. REQUEST_STOP comes last. */
struct request *queue_take_turn(struct queue *q, size_t taker, int64_t wait_ms);
