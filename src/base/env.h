/* Time and randomness as a struct, so that a simulator can be a second implementation.
 *
 * The real one (env_real) may be called on any thread. wall_ms is for what is stored or shown
 * (Unix milliseconds, UTC; it may jump, within LIMIT_WALL_LEAST_MS and LIMIT_WALL_MOST_MS); mono_ms
 * never goes back and is for waiting. A loop caches both once per tick; only code outside a loop
 * asks here directly. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS INT64_C(3600000)
#define DAY_MS INT64_C(86400000)

struct env {
    int64_t (*wall_ms)(struct env *env);
    int64_t (*mono_ms)(struct env *env);
    void (*random_bytes)(struct env *env, void *to, size_t n); /* cryptographic in the real one */
};

struct env *env_real(void);
/* The system's clock without the bounds of wall_ms: only for messages about it. */
int64_t env_system_clock_ms(void);

static inline int64_t env_wall_ms(struct env *env)
{
    return env->wall_ms(env);
}

static inline int64_t env_mono_ms(struct env *env)
{
    return env->mono_ms(env);
}

static inline void env_random(struct env *env, void *to, size_t n)
{
    env->random_bytes(env, to, n);
}

/* A small deterministic generator (xoshiro256**) for jitter and tests; not for secrets. */
struct rng {
    uint64_t s[4];
};
void rng_seed(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t bound); /* 0..bound-1, bound > 0 */
