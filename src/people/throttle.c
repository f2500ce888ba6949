/* A bounded table of allowances (base/allowance.h), by a keyed hash of the name, so that nobody can
 * choose colliding names. A full set drops the bucket whose failures are forgotten first. */
#include "people/throttle.h"

#include "base/alloc.h"
#include "base/allowance.h"
#include "base/env.h"
#include "base/hash.h"

#include <pthread.h>
#include <stdlib.h>

#define SETS 1024u
#define WAYS 8u
#define SAID_EVERY_MS HOUR_MS

/* Failures not yet forgotten, as the time at which the last one will be. */
struct bucket {
    struct key128 who;
    int64_t empty_at_ms;    /* 0: free */
    int64_t quiet_until_ms; /* no further report of a used-up bucket until then */
};

struct throttle {
    pthread_mutex_t lock;
    struct allowance tries;
    struct hash_secret secret;
    struct bucket sets[SETS][WAYS];
};

struct throttle *throttle_new(struct throttle_rule rule)
{
    struct throttle *t = xcalloc(1, sizeof *t);
    pthread_mutex_init(&t->lock, NULL);
    t->tries = (struct allowance){rule.refill_ms, rule.tries * rule.refill_ms};
    env_random(env_real(), &t->secret, sizeof t->secret);
    return t;
}

void throttle_free(struct throttle *t)
{
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static struct bucket *find(struct throttle *t, struct key128 who)
{
    struct bucket *set = t->sets[who.lo % SETS];
    for (size_t i = 0; i < WAYS; i++)
        if (set[i].empty_at_ms && key128_eq(set[i].who, who))
            return &set[i];
    return NULL;
}

static struct bucket *take_over(struct throttle *t, struct key128 who)
{
    struct bucket *set = t->sets[who.lo % SETS], *least = &set[0];
    for (size_t i = 1; i < WAYS; i++)
        if (set[i].empty_at_ms < least->empty_at_ms)
            least = &set[i];
    *least = (struct bucket){.who = who};
    return least;
}

int64_t throttle_wait_ms(struct throttle *t, struct str who, int64_t now_ms)
{
    pthread_mutex_lock(&t->lock);
    const struct bucket *b = find(t, hash_key128(&t->secret, who.p, who.n));
    int64_t wait = allowance_wait(t->tries, b ? b->empty_at_ms : 0, now_ms);
    pthread_mutex_unlock(&t->lock);
    return wait;
}

bool throttle_fail(struct throttle *t, struct str who, int64_t now_ms)
{
    struct key128 key = hash_key128(&t->secret, who.p, who.n);
    pthread_mutex_lock(&t->lock);
    struct bucket *b = find(t, key);
    if (!b)
        b = take_over(t, key);
    b->empty_at_ms = allowance_use(t->tries, b->empty_at_ms, now_ms);
    bool say = allowance_wait(t->tries, b->empty_at_ms, now_ms) > 0 && now_ms >= b->quiet_until_ms;
    if (say)
        b->quiet_until_ms = now_ms + SAID_EVERY_MS;
    pthread_mutex_unlock(&t->lock);
    return say;
}

void throttle_forgive(struct throttle *t, struct str who)
{
    pthread_mutex_lock(&t->lock);
    struct bucket *b = find(t, hash_key128(&t->secret, who.p, who.n));
    if (b)
        b->empty_at_ms = 0;
    pthread_mutex_unlock(&t->lock);
}
