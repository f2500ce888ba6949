/* What recovery.c and recovery_tick.c share. Internal to recoveries. */
#pragma once

#include "services/recovery.h"

#include "base/waiter.h"

#include <pthread.h>

#define RECOVERIES_MAGIC 0x2EC0BE27u
#define RECOVERY_TICK_MS 100

struct part_page {
    struct callback_list list; /* its rows are behind the part's position */
    size_t at;
    bool there;
};

struct running {
    struct running *next;
    struct recovery r;
    struct part_page *pages; /* one per part */
    size_t turn;
    int64_t credit_milli; /* thousandths of a resend */
    int64_t refilled_mono_ms, saved_mono_ms, shut_mono_ms;
    bool done, changed;
    bool is_gone; /* another node has removed it: this thread unlinks it soon */
};

/* A recovery that another node has changed. */
struct recovery_news {
    struct recovery_news *next;
    char id[RECOVERY_ID_BYTES];
    bool gone;
    struct recovery r;
};

struct recoveries {
    uint32_t magic;
    struct env *env;
    struct store *store;
    struct delivery *delivery;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct waiter waiter;
    struct running *first;
    struct recovery_removal *removals;
    struct recovery_news *news; /* the latest first */
    bool mine, started, stopping;
};

/* Resends as many as the rate and the lanes allow now. On the recoveries' thread; waits for the
 * store and for delivery. */
void recovery_tick(struct recoveries *all, struct running *at);
