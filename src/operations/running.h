/* What the files of operations/ share: the thread's state, and what is done to a notice on it.
 * Internal to operations/. */
#pragma once

#include "operations/notice.h"

#include "net/loop.h"

#include <pthread.h>
#include <stdatomic.h>

#define OPERATIONS_MAGIC 0x0BE7A710u

struct operations {
    uint32_t magic;
    struct operations_options options;
    struct loop *loop;
    struct sender *sender;
    pthread_t thread;
    bool running;
    struct notice *notices;
    size_t count;
    /* Under way: messages, each way with seats of its own, and questions to the store. */
    int32_t sending[OPERATIONS_CHANNELS], requests;
    struct timer timer;
    bool timer_set, stopping;
    struct task stop_task;
    atomic_llong sent, failed, given_up, owed;
    atomic_llong known; /* endpoints not well, and news of such on their way */
};

/* Looks at it again after so long. */
void operations_set_due(struct operations *o, struct notice *n, int64_t in_ms);

/* Takes it out of the list, and frees it: now, or when what is under way has ended. */
void operations_unlink(struct operations *o, struct notice **at);

/* Whether this node sends what it owes. */
bool notice_is_ours(const struct notice *n);

/* Begins or ends what is owed, as its endpoint is now. */
void notice_consider(struct notice *n);
