/* Decides whether a key may read now: a bounded table of keys' allowances (base/allowance.h). Keys
 * are few, so the bound is only a guard: beyond it, a full allowance makes room, which loses
 * nothing. */
#include "services/rate_limit.h"

#include "base/alloc.h"
#include "base/allowance.h"
#include "base/hash.h"
#include "base/limits.h"

#include <pthread.h>
#include <stdlib.h>

#define MINUTE_US INT64_C(60000000)
#define TABLE_SLOTS 4096u

struct key_rate {
    char id[LIMIT_ID_BYTES];
    size_t id_n;
    int64_t full_us; /* monotonic */
};

struct rate_limit {
    pthread_mutex_t lock;
    int32_t per_minute;
    struct key_rate slots[TABLE_SLOTS];
};

struct rate_limit *rate_limit_new(int32_t per_minute)
{
    struct rate_limit *limit = xcalloc(1, sizeof *limit);
    pthread_mutex_init(&limit->lock, NULL);
    limit->per_minute = per_minute;
    return limit;
}

void rate_limit_set(struct rate_limit *limit, int32_t per_minute)
{
    pthread_mutex_lock(&limit->lock);
    limit->per_minute = per_minute;
    pthread_mutex_unlock(&limit->lock);
}

void rate_limit_free(struct rate_limit *limit)
{
    pthread_mutex_destroy(&limit->lock);
    free(limit);
}

/* Finds the key's allowance, or makes one in a free place, in place of a full one, or of any. */
static struct key_rate *find(struct rate_limit *limit, struct str id, int64_t now_us)
{
    uint64_t h = hash_fast(id.p, id.n);
    struct key_rate *reuse = NULL;
    for (uint64_t i = 0; i < 16; i++) {
        struct key_rate *a = &limit->slots[(h + i) % TABLE_SLOTS];
        if (a->id_n == id.n && a->id_n && memcmp(a->id, id.p, id.n) == 0)
            return a;
        if (!reuse && (!a->id_n || a->full_us <= now_us))
            reuse = a;
    }
    if (!reuse)
        reuse = &limit->slots[h % TABLE_SLOTS];
    *reuse = (struct key_rate){.id_n = id.n, .full_us = now_us};
    memcpy(reuse->id, id.p, id.n);
    return reuse;
}

/* At least 1: a client must not be told to come back at once. */
static int32_t seconds(int64_t us)
{
    return us > 1000000 ? (int32_t)((us + 999999) / 1000000) : 1;
}

static bool take(struct key_rate *k, int32_t per_minute, int64_t now_us, struct rate_state *ret)
{
    int64_t each_us = per_minute > 0 ? MINUTE_US / per_minute : MINUTE_US;
    struct allowance minute = {each_us ? each_us : 1, MINUTE_US};
    int64_t wait_us = allowance_wait(minute, k->full_us, now_us);
    bool granted = per_minute > 0 && wait_us == 0;
    if (granted)
        k->full_us = allowance_use(minute, k->full_us, now_us);
    int64_t left = granted ? (now_us + MINUTE_US - k->full_us) / minute.each : 0;
    ret->limit = per_minute;
    ret->remaining = left < per_minute ? (int32_t)left : per_minute;
    ret->reset_s = seconds(k->full_us - now_us);
    ret->retry_s = seconds(wait_us);
    return granted;
}

bool rate_limit_take(struct rate_limit *limit, struct str key_id, int64_t now_mono_ms,
                     struct rate_state *ret)
{
    int64_t now_us = now_mono_ms * 1000;
    if (key_id.n > LIMIT_ID_BYTES)
        key_id.n = LIMIT_ID_BYTES;
    pthread_mutex_lock(&limit->lock);
    bool granted = take(find(limit, key_id, now_us), limit->per_minute, now_us, ret);
    pthread_mutex_unlock(&limit->lock);
    return granted;
}
