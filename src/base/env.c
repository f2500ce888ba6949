/* The real clock and the real randomness. Only this file calls getrandom, and only this file and
 * timing.c, whose times are shown and decide nothing, call clock_gettime. */
#include "base/env.h"

#include "base/check.h"
#include "base/limits.h"

#include <sys/random.h>
#include <time.h>

static int64_t clock_ms(clockid_t clock)
{
    struct timespec t;
    ASSERT(clock_gettime(clock, &t) == 0);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t env_system_clock_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

static int64_t real_wall_ms(struct env *env)
{
    (void)env;
    int64_t ms = env_system_clock_ms();
    if (ms < LIMIT_WALL_LEAST_MS)
        return LIMIT_WALL_LEAST_MS;
    return ms < LIMIT_WALL_MOST_MS ? ms : LIMIT_WALL_MOST_MS;
}

static int64_t real_mono_ms(struct env *env)
{
    (void)env;
    return clock_ms(CLOCK_MONOTONIC);
}

static void real_random(struct env *env, void *to, size_t n)
{
    (void)env;
    char *p = to;
    while (n) {
        size_t ask = n < 256 ? n : 256; /* up to 256 bytes are never interrupted: getrandom(2) */
        ssize_t got = getrandom(p, ask, 0);
        ASSERT(got > 0);
        p += got;
        n -= (size_t)got;
    }
}

struct env *env_real(void)
{
    static struct env real = {real_wall_ms, real_mono_ms, real_random};
    return &real;
}

static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void rng_seed(struct rng *rng, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++)
        rng->s[i] = splitmix(&seed);
}

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    ASSERT(bound > 0);
    return rng_next(rng) % bound;
}
