/* The two containers of a lane's callbacks in memory: first-in first-out queues of callbacks that
 * may be attempted now, and a small heap of those whose next attempt is seconds away.
 *
 * Nothing here keeps the callbacks of one panelist in order, because the contract promises none
 * (section 4). Only a reversal waits for its original's callback: domain/callback_life.h. */
#pragma once

#include "store/callback.h"

struct callback_queue {
    struct callback *first, *last; /* linked through callback.next */
    int32_t count;
};

void callback_queue_push(struct callback_queue *q, struct callback *c);
struct callback *callback_queue_pop(struct callback_queue *q); /* NULL: empty */

struct retry {
    int64_t due_mono_ms;
    struct callback *callback;
};

/* All zeros: empty. An empty heap uses no memory. */
struct retries {
    struct retry *items;
    uint32_t count, capacity;
};

void retries_add(struct retries *r, struct callback *c, int64_t due_mono_ms);
int64_t retries_earliest(const struct retries *r);                /* INT64_MAX: none */
struct callback *retries_pop(struct retries *r);                  /* the earliest; NULL: none */
void retries_remove(struct retries *r, const struct callback *c); /* must be in the heap */
