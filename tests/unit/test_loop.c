/* The loop: tick order, timers against a plain model, tasks from many threads, watching. */
#include "check.h"

#include "base/alloc.h"
#include "base/check.h"
#include "net/loop.h"
#include "net/timers.h"

#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/time.h>

static struct loop *loop;
static char trace[256];

static void note(char c)
{
    size_t n = strlen(trace);
    if (n + 1 < sizeof trace)
        trace[n] = c;
}

static void begin(void)
{
    memset(trace, 0, sizeof trace);
    loop = loop_new(env_real());
}

static void end(void)
{
    loop_free(loop);
}

/* ---- timers, as a heap */

enum { MODEL = 300 };

static void unused_fire(struct timer *t)
{
    (void)t;
}

static int first_of(const struct timer *timers, int n)
{
    int best = -1;
    for (int i = 0; i < n; i++) {
        if (!timers[i].heap_place)
            continue;
        if (best < 0 || timers[i].at_mono_ms < timers[best].at_mono_ms ||
            (timers[i].at_mono_ms == timers[best].at_mono_ms &&
             timers[i].sequence < timers[best].sequence))
            best = i;
    }
    return best;
}

static void heap_agrees_with_a_scan(void)
{
    struct timers heap = {0};
    struct timer timers[MODEL] = {0};
    struct rng rng;
    rng_seed(&rng, 7);
    for (int step = 0; step < 20000; step++) {
        struct timer *t = &timers[rng_below(&rng, MODEL)];
        t->fire = unused_fire;
        uint64_t what = rng_below(&rng, 10);
        if (what < 6) {
            timers_set(&heap, t, (int64_t)rng_below(&rng, 50));
        } else if (what < 8) {
            timers_clear(&heap, t);
        } else {
            int want = first_of(timers, MODEL);
            struct timer *got = timers_take_due(&heap, 1000, UINT64_MAX);
            if (!CHECK(got == (want < 0 ? NULL : &timers[want])))
                break;
        }
    }
    struct timer *previous = NULL, *t;
    while ((t = timers_take_due(&heap, 1000, UINT64_MAX)) != NULL) {
        CHECK(!previous || previous->at_mono_ms < t->at_mono_ms ||
              (previous->at_mono_ms == t->at_mono_ms && previous->sequence < t->sequence));
        previous = t;
    }
    CHECK_EQ_UINT(heap.count, 0);
    timers_free(&heap);
}

/* ---- timers, in the loop */

static struct timer timer_a, timer_b, timer_c;

static void fire_a(struct timer *t)
{
    (void)t;
    note('a');
    loop_timer_clear(loop, &timer_b); /* due in the same tick, but taken back */
    loop_timer_set(loop, &timer_c, 0);
}

static void fire_b(struct timer *t)
{
    (void)t;
    note('b');
}

static int c_left;

static void fire_c(struct timer *t)
{
    note('c');
    if (--c_left > 0)
        loop_timer_set(loop, t, 0);
    else
        loop_stop(loop);
}

static void hook_tick(struct loop_hook *hook)
{
    (void)hook;
    note('.');
}

static void timers_fire_in_order_once_per_tick(void)
{
    begin();
    c_left = 3;
    timer_a = (struct timer){.fire = fire_a};
    timer_b = (struct timer){.fire = fire_b};
    timer_c = (struct timer){.fire = fire_c};
    struct loop_hook hook = {.run = hook_tick};
    loop_at_tick_end(loop, &hook);
    int64_t now = loop_mono_ms(loop);
    loop_timer_set(loop, &timer_b, now);
    loop_timer_set(loop, &timer_a, now);
    loop_timer_set(loop, &timer_b, now); /* now behind a */
    loop_run(loop);
    CHECK_CSTR(trace, "a.c.c.c.");
    end();
}

static void fire_stop(struct timer *t)
{
    (void)t;
    loop_stop(loop);
}

static void timers_are_not_early(void)
{
    begin();
    struct timer t = {.fire = fire_stop};
    int64_t start = env_mono_ms(env_real());
    loop_timer_set(loop, &t, start + 30);
    loop_run(loop);
    CHECK(env_mono_ms(env_real()) >= start + 30);
    end();
}

/* ---- the tick's order */

static struct task order_task;
static struct io order_io;
static int order_pipe[2];

static void task_noted(struct task *t)
{
    (void)t;
    note('k');
    loop_stop(loop);
}

static void io_noted(struct io *io, int events)
{
    note(events == IO_READ ? 's' : '?');
    char byte;
    CHECK_EQ_INT(read(io->fd, &byte, 1), 1);
}

static void fire_noted(struct timer *t)
{
    (void)t;
    note('t');
    executor_post(loop_executor(loop), &order_task);
}

static void tick_order_is_as_written(void)
{
    begin();
    REQUIRE(pipe2(order_pipe, O_NONBLOCK | O_CLOEXEC) == 0);
    REQUIRE(write(order_pipe[1], "x", 1) == 1);
    order_task.run = task_noted;
    order_io = (struct io){.fd = order_pipe[0], .ready = io_noted};
    loop_watch(loop, &order_io, IO_READ);
    struct timer t = {.fire = fire_noted};
    loop_timer_set(loop, &t, 0); /* overdue, and yet behind what has come in */
    struct loop_hook hook = {.run = hook_tick};
    loop_at_tick_end(loop, &hook);
    loop_run(loop);
    CHECK_CSTR(trace, "stk.");
    loop_unwatch(loop, &order_io);
    close(order_pipe[0]);
    close(order_pipe[1]);
    end();
}

/* ---- behind a pause */

static volatile int64_t paused_mono_ms;
static int paused_pipe[2];

static int64_t get_paused_mono_ms(struct env *env)
{
    (void)env;
    return paused_mono_ms;
}

/* A loop whose clock the test sets. */
static void begin_paused(struct env *env)
{
    memset(trace, 0, sizeof trace);
    *env = *env_real();
    env->mono_ms = get_paused_mono_ms;
    paused_mono_ms = 1000;
    loop = loop_new(env);
    ASSERT(pipe2(paused_pipe, O_NONBLOCK | O_CLOEXEC) == 0);
    order_io = (struct io){.fd = paused_pipe[0], .ready = io_noted};
    loop_watch(loop, &order_io, IO_READ);
}

static void end_paused(void)
{
    loop_unwatch(loop, &order_io);
    close(paused_pipe[0]);
    close(paused_pipe[1]);
    end();
}

static void fire_noted_stop(struct timer *t)
{
    note('t');
    fire_stop(t);
}

/* However many reads it takes. */
static void late_timers_wait_for_what_came_in_time(void)
{
    struct env env;
    begin_paused(&env);
    struct timer t = {.fire = fire_noted_stop};
    struct loop_hook hook = {.run = hook_tick};
    loop_at_tick_end(loop, &hook);
    loop_timer_set(loop, &t, paused_mono_ms + 100);
    REQUIRE(write(paused_pipe[1], "xyz", 3) == 3);
    paused_mono_ms += 10000;
    loop_run(loop);
    CHECK_CSTR(trace, "s.s.s.t.");
    end_paused();
}

static struct loop_report held_report;

static void report_noted(struct loop_report *r)
{
    note('r');
    if (strlen(trace) < 6)
        loop_report_set(loop, r);
}

static void late_timers_wait_for_bytes_that_were_read(void)
{
    struct env env;
    begin_paused(&env);
    struct timer t = {.fire = fire_noted_stop};
    struct loop_hook hook = {.run = hook_tick};
    loop_at_tick_end(loop, &hook);
    held_report = (struct loop_report){.report = report_noted};
    loop_report_set(loop, &held_report);
    loop_report_set(loop, &held_report);
    loop_timer_set(loop, &t, paused_mono_ms + 100);
    paused_mono_ms += 10000;
    loop_run(loop);
    CHECK_CSTR(trace, "r.r.r.r.t.");
    end_paused();
}

static void io_always_ready(struct io *io, int events)
{
    (void)io, (void)events;
    note('s');
    paused_mono_ms += 50;
}

static void late_timers_do_not_starve(void)
{
    struct env env;
    begin_paused(&env);
    struct timer t = {.fire = fire_noted_stop};
    order_io.ready = io_always_ready;
    loop_timer_set(loop, &t, paused_mono_ms + 100);
    REQUIRE(write(paused_pipe[1], "x", 1) == 1);
    paused_mono_ms += 10000;
    loop_run(loop);
    CHECK_CSTR(trace, "ssssst"); /* TIMERS_HELD_MOST_MS after the first tick */
    end_paused();
}

static int64_t busy_ms, late_most_ms;

static void io_busy(struct io *io, int events)
{
    (void)io, (void)events;
    paused_mono_ms += busy_ms;
}

static int64_t get_busy_mono_ms(struct env *env)
{
    (void)env;
    return paused_mono_ms += 5;
}

static void fire_again(struct timer *t)
{
    int64_t late_ms = loop_mono_ms(loop) - t->at_mono_ms;
    late_most_ms = late_ms > late_most_ms ? late_ms : late_most_ms;
    note('t');
    loop_timer_set(loop, t, t->at_mono_ms + 100);
    if (strlen(trace) == 20)
        loop_stop(loop);
}

enum { BUSY_MOST = 300 };

/* So many sockets are always ready, and each takes so long. */
static void check_busy(int sockets, int64_t ms)
{
    struct env env;
    struct io busy[BUSY_MOST];
    begin_paused(&env);
    struct timer t = {.fire = fire_again};
    env.mono_ms = get_busy_mono_ms;
    busy_ms = ms;
    late_most_ms = 0;
    REQUIRE(write(paused_pipe[1], "x", 1) == 1);
    loop_watch(loop, &order_io, 0);
    for (int i = 0; i < sockets; i++) {
        busy[i] = (struct io){.fd = dup(paused_pipe[0]), .ready = io_busy};
        loop_watch(loop, &busy[i], IO_READ);
    }
    loop_timer_set(loop, &t, paused_mono_ms + 100);
    loop_run(loop);
    CHECK(late_most_ms <= 2 * (sockets * ms + 10)); /* the clock is read twice a tick */
    for (int i = 0; i < sockets; i++) {
        loop_unwatch(loop, &busy[i]);
        close(busy[i].fd);
    }
    end_paused();
}

static void a_busy_loop_runs_its_timers_on_time(void)
{
    check_busy(1, 5);
    check_busy(1, 15);
    check_busy(2, 30);
    check_busy(1, 300);       /* each tick looks like a pause */
    check_busy(BUSY_MOST, 0); /* more than a wait reports */
}

/* The pause ends a wait, and the bytes came during it. */
static void pause_ends(int signal)
{
    (void)signal;
    paused_mono_ms += 10000;
    ASSERT(write(paused_pipe[1], "x", 1) == 1);
}

static void an_interrupted_wait_has_looked_at_nothing(void)
{
    struct env env;
    begin_paused(&env);
    struct timer t = {.fire = fire_noted_stop};
    struct sigaction action = {.sa_handler = pause_ends}, before;
    struct itimerval soon = {.it_value.tv_usec = 50000};
    loop_timer_set(loop, &t, paused_mono_ms + 5000);
    REQUIRE(sigaction(SIGALRM, &action, &before) == 0);
    REQUIRE(setitimer(ITIMER_REAL, &soon, NULL) == 0);
    loop_run(loop);
    CHECK_CSTR(trace, "st");
    REQUIRE(sigaction(SIGALRM, &before, NULL) == 0);
    end_paused();
}

/* ---- watching */

static struct io ios[2];
static int seen_ready;

static void ready_unwatches_other(struct io *io, int events)
{
    (void)events;
    seen_ready++;
    struct io *other = io == &ios[0] ? &ios[1] : &ios[0];
    loop_unwatch(loop, other);
    loop_unwatch(loop, io);
    loop_stop(loop);
}

static void unwatched_is_not_reported(void)
{
    begin();
    int pipes[2][2];
    seen_ready = 0;
    for (int i = 0; i < 2; i++) {
        REQUIRE(pipe2(pipes[i], O_NONBLOCK | O_CLOEXEC) == 0);
        REQUIRE(write(pipes[i][1], "x", 1) == 1);
        ios[i] = (struct io){.fd = pipes[i][0], .ready = ready_unwatches_other};
        loop_watch(loop, &ios[i], IO_READ);
    }
    loop_run(loop);
    CHECK_EQ_INT(seen_ready, 1);
    for (int i = 0; i < 2; i++) {
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
    end();
}

static void ready_counted(struct io *io, int events)
{
    seen_ready++;
    CHECK_EQ_INT(events, IO_READ);
    loop_watch(loop, io, 0);
}

static void silent_hangup_does_not_spin(void)
{
    begin();
    int p[2];
    REQUIRE(pipe2(p, O_NONBLOCK | O_CLOEXEC) == 0);
    close(p[1]); /* hung up for good */
    seen_ready = 0;
    struct io io = {.fd = p[0], .ready = ready_counted};
    loop_watch(loop, &io, IO_READ);
    struct loop_hook hook = {.run = hook_tick};
    loop_at_tick_end(loop, &hook);
    struct timer t = {.fire = fire_stop};
    loop_timer_set(loop, &t, loop_mono_ms(loop) + 20);
    loop_run(loop);
    CHECK_EQ_INT(seen_ready, 1);
    CHECK(strlen(trace) < 10); /* ticks */
    loop_unwatch(loop, &io);
    close(p[0]);
    end();
}

/* ---- tasks */

enum { POSTERS = 3, POSTS = 20000 };

struct numbered {
    struct task task;
    int poster, number;
};

static int next_of[POSTERS], ran, out_of_order;

static void run_numbered(struct task *task)
{
    struct numbered *n = CONTAINER_OF(task, struct numbered, task);
    if (n->number != next_of[n->poster]++)
        out_of_order++;
    free(n);
    if (++ran == POSTERS * POSTS)
        loop_stop(loop);
}

static void *poster(void *argument)
{
    int me = *(int *)argument;
    for (int i = 0; i < POSTS; i++) {
        struct numbered *n = xmalloc(sizeof *n);
        *n = (struct numbered){{.run = run_numbered}, me, i};
        executor_post(loop_executor(loop), &n->task);
    }
    return NULL;
}

static void posters_keep_their_order(void)
{
    begin();
    pthread_t threads[POSTERS];
    int ids[POSTERS];
    memset(next_of, 0, sizeof next_of);
    ran = out_of_order = 0;
    for (int i = 0; i < POSTERS; i++) {
        ids[i] = i;
        REQUIRE(pthread_create(&threads[i], NULL, poster, &ids[i]) == 0);
    }
    loop_run(loop);
    for (int i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ_INT(ran, POSTERS * POSTS);
    CHECK_EQ_INT(out_of_order, 0);
    end();
}

static struct task chain[3];
static int chained;

static void run_chain(struct task *t)
{
    (void)t;
    note('k');
    if (++chained < 3)
        executor_post(loop_executor(loop), &chain[chained]);
}

static void posted_tasks_run_before_the_loop_returns(void)
{
    begin();
    chained = 0;
    for (size_t i = 0; i < 3; i++)
        chain[i].run = run_chain;
    struct loop_hook hook = {.run = hook_tick};
    loop_at_tick_end(loop, &hook);
    executor_post(loop_executor(loop), &chain[0]);
    loop_stop(loop);
    loop_run(loop);
    CHECK_CSTR(trace, "k.k.k.");
    end();
}

static void *stopper(void *argument)
{
    (void)argument;
    usleep(20000);
    loop_stop(loop);
    return NULL;
}

static void stop_wakes_a_sleeping_loop(void)
{
    begin();
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, stopper, NULL) == 0);
    int64_t start = env_mono_ms(env_real());
    loop_run(loop);
    CHECK(env_mono_ms(env_real()) - start < 30000);
    pthread_join(thread, NULL);
    end();
}

static void fire_frees_later(struct timer *t)
{
    char *p = xmalloc(8);
    loop_free_later(loop, p);
    loop_free_later(loop, NULL);
    p[7] = 1; /* still ours until the end of the tick */
    CHECK_EQ_INT(p[7], 1);
    fire_stop(t);
}

static void free_is_deferred(void)
{
    begin();
    struct timer t = {.fire = fire_frees_later};
    loop_timer_set(loop, &t, 0);
    loop_run(loop);
    end();
}

int main(void)
{
    RUN(heap_agrees_with_a_scan);
    RUN(timers_fire_in_order_once_per_tick);
    RUN(timers_are_not_early);
    RUN(tick_order_is_as_written);
    RUN(late_timers_wait_for_what_came_in_time);
    RUN(late_timers_wait_for_bytes_that_were_read);
    RUN(late_timers_do_not_starve);
    RUN(a_busy_loop_runs_its_timers_on_time);
    RUN(an_interrupted_wait_has_looked_at_nothing);
    RUN(unwatched_is_not_reported);
    RUN(silent_hangup_does_not_spin);
    RUN(posters_keep_their_order);
    RUN(posted_tasks_run_before_the_loop_returns);
    RUN(stop_wakes_a_sleeping_loop);
    RUN(free_is_deferred);
    return check_done("loop");
}
