/* A bounded table of windows. When it is full, windows that have ended are swept; keys are few
 * (they exist in the directory), so the bound is only a guard. */
#include "services/rate_limit.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/limits.h"

#include <pthread.h>
#include <stdlib.h>

#define WINDOW_MS 60000
#define TABLE_SLOTS 4096u

struct rate_window {
    char id[LIMIT_ID_BYTES];
    size_t id_n;
    int64_t began_ms;
    int32_t used;
};

struct rate_limit {
    pthread_mutex_t lock;
    int32_t per_minute;
    struct rate_window slots[TABLE_SLOTS];
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

/* The key's window, or one that may be taken over: free, ended, or the last looked at. */
static struct rate_window *find(struct rate_limit *limit, struct str id, int64_t now_ms)
{
    uint64_t h = hash_fast(id.p, id.n);
    struct rate_window *reuse = NULL;
    for (uint64_t i = 0; i < 16; i++) {
        struct rate_window *w = &limit->slots[(h + i) % TABLE_SLOTS];
        if (w->id_n == id.n && w->id_n && memcmp(w->id, id.p, id.n) == 0)
            return w;
        if (!reuse && (!w->id_n || now_ms - w->began_ms >= WINDOW_MS))
            reuse = w;
    }
    if (!reuse)
        reuse = &limit->slots[h % TABLE_SLOTS];
    *reuse = (struct rate_window){.id_n = id.n, .began_ms = now_ms};
    memcpy(reuse->id, id.p, id.n);
    return reuse;
}

bool rate_limit_take(struct rate_limit *limit, struct str key_id, int64_t now_mono_ms,
                     struct rate_state *ret)
{
    if (key_id.n > LIMIT_ID_BYTES)
        key_id.n = LIMIT_ID_BYTES;
    pthread_mutex_lock(&limit->lock);
    struct rate_window *w = find(limit, key_id, now_mono_ms);
    if (now_mono_ms - w->began_ms >= WINDOW_MS) {
        w->began_ms = now_mono_ms;
        w->used = 0;
    }
    bool granted = w->used < limit->per_minute;
    if (granted)
        w->used++;
    ret->limit = limit->per_minute;
    ret->remaining = w->used < limit->per_minute ? limit->per_minute - w->used : 0;
    ret->reset_s = (int32_t)((WINDOW_MS - (now_mono_ms - w->began_ms) + 999) / 1000);
    pthread_mutex_unlock(&limit->lock);
    return granted;
}
