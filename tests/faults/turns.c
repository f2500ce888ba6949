/* One baton: who has it runs, all others wait on a semaphore of their own. So what is kept here
 * needs no lock. Mutexes and conditions are the real ones, but nobody ever blocks in them: who
 * would is marked as waiting, and the baton goes on.
 *
 * Both clocks show the same virtual time, so a deadline means the same by either. */
#include "turns.h"

#include "base/env.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS_MOST 32
#define PAUSE_ONE_IN 3 /* places at which somebody else may go on, and does */
#define BEGIN_US (INT64_C(1763726400) * 1000000)
#define NEVER INT64_MAX

enum turn_state { TURN_FREE, TURN_READY, TURN_WAITS, TURN_OVER };

struct turn_thread {
    enum turn_state state;
    const void *waits_for; /* a mutex, a condition, a thread; NULL: for the time alone */
    int64_t until_us;
    bool timed_out;
    sem_t go;
    pthread_t id;
    void *(*main)(void *);
    void *arg, *result;
};

static struct {
    bool on;
    struct rng rng;
    int64_t now_us;
    uint64_t trace, jumps;
    size_t count;
    struct turn_thread threads[THREADS_MOST]; /* the first one began */
} turns;
static __thread struct turn_thread *self; /* NULL: takes no turns */

int __real_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*main)(void *),
                          void *arg);
int __real_pthread_join(pthread_t id, void **result);
int __real_pthread_mutex_lock(pthread_mutex_t *m);
int __real_pthread_mutex_unlock(pthread_mutex_t *m);
int __real_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __real_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t);
int __real_pthread_cond_signal(pthread_cond_t *c);
int __real_pthread_cond_broadcast(pthread_cond_t *c);
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __real_nanosleep(const struct timespec *t, struct timespec *rest);

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*main)(void *),
                          void *arg);
int __wrap_pthread_join(pthread_t id, void **result);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t);
int __wrap_pthread_cond_signal(pthread_cond_t *c);
int __wrap_pthread_cond_broadcast(pthread_cond_t *c);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
uint64_t turns_jumps(void)
{
    return turns.jumps;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *rest);

static bool taking_turns(void)
{
    return turns.on && self;
}

void turns_note(uint64_t what)
{
    turns.trace = (turns.trace ^ what) * UINT64_C(0x9e3779b97f4a7c15);
    turns.trace ^= turns.trace >> 29;
}

/* --- the baton -------------------------------------------------------------------------------- */

/* Time goes on to the first deadline; false: nobody waits for one. */
static bool jump(void)
{
    int64_t first_us = NEVER;
    for (size_t i = 0; i < turns.count; i++)
        if (turns.threads[i].state == TURN_WAITS && turns.threads[i].until_us < first_us)
            first_us = turns.threads[i].until_us;
    if (first_us == NEVER)
        return false;
    if (first_us > turns.now_us)
        turns.now_us = first_us;
    turns.jumps++;
    for (size_t i = 0; i < turns.count; i++) {
        struct turn_thread *t = &turns.threads[i];
        if (t->state != TURN_WAITS || t->until_us > turns.now_us)
            continue;
        t->state = TURN_READY;
        t->timed_out = true;
    }
    return true;
}

static struct turn_thread *choose(void)
{
    size_t ready = 0;
    for (size_t i = 0; i < turns.count; i++)
        ready += turns.threads[i].state == TURN_READY;
    if (ready == 0) {
        if (jump())
            return choose();
        fprintf(stderr, "turns: every thread waits, and none for a time\n");
        abort();
    }
    uint64_t nth = rng_below(&turns.rng, ready);
    for (size_t i = 0;; i++)
        if (turns.threads[i].state == TURN_READY && nth-- == 0) {
            turns_note(i + 1);
            return &turns.threads[i];
        }
}

static void wait_for_turn(struct turn_thread *t)
{
    while (sem_wait(&t->go) != 0)
        ASSERT(errno == EINTR);
}

/* Gives the baton on, and has it again at the end; not where the caller is over. */
static void pass_on(void)
{
    struct turn_thread *me = self, *next = choose();
    if (next == me)
        return;
    bool over = me->state == TURN_OVER;
    ASSERT(sem_post(&next->go) == 0);
    if (!over)
        wait_for_turn(me);
}

void turns_pause(void)
{
    if (taking_turns() && rng_below(&turns.rng, PAUSE_ONE_IN) == 0)
        pass_on();
}

/* False: until_us came first. */
static bool wait_for(const void *what, int64_t until_us)
{
    self->state = TURN_WAITS;
    self->waits_for = what;
    self->until_us = until_us;
    self->timed_out = false;
    pass_on();
    return !self->timed_out;
}

static size_t wake(const void *what, size_t most)
{
    size_t woken = 0;
    for (size_t i = 0; woken < most && i < turns.count; i++) {
        struct turn_thread *t = &turns.threads[i];
        if (t->state != TURN_WAITS || t->waits_for != what)
            continue;
        t->state = TURN_READY;
        woken++;
    }
    return woken;
}

/* --- threads ---------------------------------------------------------------------------------- */

static void *trampoline(void *thread)
{
    self = thread;
    wait_for_turn(self);
    self->result = self->main(self->arg);
    self->state = TURN_OVER;
    wake(self, THREADS_MOST);
    pass_on();
    return NULL;
}

static struct turn_thread *add_thread(void)
{
    size_t at = 0;
    while (at < turns.count && turns.threads[at].state != TURN_FREE)
        at++;
    ASSERT(at < THREADS_MOST);
    if (at == turns.count)
        turns.count++;
    struct turn_thread *t = &turns.threads[at];
    *t = (struct turn_thread){.state = TURN_READY};
    ASSERT(sem_init(&t->go, 0, 0) == 0);
    return t;
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*main)(void *),
                          void *arg)
{
    if (!taking_turns())
        return __real_pthread_create(id, attributes, main, arg);
    struct turn_thread *t = add_thread();
    t->main = main;
    t->arg = arg;
    ASSERT(__real_pthread_create(&t->id, attributes, trampoline, t) == 0);
    *id = t->id;
    turns_pause();
    return 0;
}

int __wrap_pthread_join(pthread_t id, void **result)
{
    if (!taking_turns())
        return __real_pthread_join(id, result);
    struct turn_thread *t = NULL;
    for (size_t i = 0; i < turns.count; i++)
        if (turns.threads[i].state != TURN_FREE && pthread_equal(turns.threads[i].id, id))
            t = &turns.threads[i];
    ASSERT(t);
    while (t->state != TURN_OVER)
        (void)wait_for(t, NEVER);
    if (result)
        *result = t->result;
    int code = __real_pthread_join(id, NULL);
    sem_destroy(&t->go);
    t->state = TURN_FREE;
    return code;
}

/* --- mutexes and conditions ------------------------------------------------------------------- */

static int lock(pthread_mutex_t *m)
{
    while (pthread_mutex_trylock(m) != 0)
        (void)wait_for(m, NEVER);
    return 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    if (!taking_turns())
        return __real_pthread_mutex_lock(m);
    turns_pause();
    return lock(m);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    int code = __real_pthread_mutex_unlock(m);
    if (!taking_turns())
        return code;
    wake(m, THREADS_MOST);
    turns_pause();
    return code;
}

static int wait_on(pthread_cond_t *c, pthread_mutex_t *m, int64_t until_us)
{
    ASSERT(__real_pthread_mutex_unlock(m) == 0);
    wake(m, THREADS_MOST);
    bool woken = wait_for(c, until_us);
    lock(m);
    return woken ? 0 : ETIMEDOUT;
}

int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    return taking_turns() ? wait_on(c, m, NEVER) : __real_pthread_cond_wait(c, m);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t)
{
    if (!taking_turns())
        return __real_pthread_cond_timedwait(c, m, t);
    return wait_on(c, m, (int64_t)t->tv_sec * 1000000 + t->tv_nsec / 1000);
}

int __wrap_pthread_cond_signal(pthread_cond_t *c)
{
    if (!taking_turns())
        return __real_pthread_cond_signal(c);
    wake(c, 1);
    turns_pause();
    return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *c)
{
    if (!taking_turns())
        return __real_pthread_cond_broadcast(c);
    wake(c, THREADS_MOST);
    turns_pause();
    return 0;
}

/* --- time ------------------------------------------------------------------------------------- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (!taking_turns())
        return __real_clock_gettime(clock, ret);
    turns.now_us++; /* who looks again and again gets somewhere */
    *ret = (struct timespec){.tv_sec = (time_t)(turns.now_us / 1000000),
                             .tv_nsec = (long)(turns.now_us % 1000000) * 1000};
    return 0;
}

bool turns_sleep_us(int64_t us)
{
    if (!taking_turns())
        return false;
    (void)wait_for(NULL, turns.now_us + us);
    return true;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *rest)
{
    if (turns_sleep_us((int64_t)t->tv_sec * 1000000 + t->tv_nsec / 1000))
        return 0;
    return __real_nanosleep(t, rest);
}

/* --- a run ------------------------------------------------------------------------------------ */

void turns_begin(uint64_t seed)
{
    ASSERT(!turns.on);
    rng_seed(&turns.rng, seed);
    turns.now_us = BEGIN_US;
    turns.trace = seed;
    turns.count = 0;
    self = add_thread();
    self->id = pthread_self();
    turns.on = true;
}

uint64_t turns_end(void)
{
    ASSERT(turns.on && self == &turns.threads[0]);
    for (size_t i = 1; i < turns.count; i++)
        ASSERT(turns.threads[i].state == TURN_FREE);
    turns.on = false;
    sem_destroy(&self->go);
    self = NULL;
    return turns.trace;
}
