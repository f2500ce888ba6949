/* The loop: epoll, timers, tasks, in the tick order that loop.h promises.
 *
 * Watching. `want` is what the owner asks for, `armed` what epoll knows (0: not registered).
 * Differences are queued on `changed` and applied just before the wait, so that stopping and
 * starting within one tick costs nothing. A descriptor with want 0 is removed from epoll: epoll
 * reports hang-ups without being asked, and a level-triggered hang-up that nobody handles would
 * spin.
 *
 * Tasks. Posters push on one lock-free stack; the loop takes the whole stack and reverses it, which
 * keeps each poster's order. `asleep` decides about waking: the loop sets it, checks the stack once
 * more and waits; the poster that clears it after pushing writes the eventfd. So posting to a busy
 * loop costs no system call, and posting to a sleeping one a single write.
 *
 * Timers. A timer may end what a socket's bytes would have completed, so it runs only after a look
 * at the sockets that began when it was due already (`looked_ms`). A wait that was interrupted (as
 * by SIGCONT) has looked at nothing. If something is ready and the last tick began more than
 * PAUSE_LEAST_MS ago, the process may have been paused. Sockets may then have more than one handler
 * call takes, so timers wait until nothing is ready (may_run_timers). The lateness of a timer is no
 * sign of a pause: an overloaded loop has late timers, too, and has to run them. */
#include "net/loop.h"

#include "base/alloc.h"
#include "base/check.h"
#include "net/timers.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LOOP_MAGIC 0x100B100Bu
#define EVENTS_PER_WAIT 256
#define WAIT_MAX_MS (60 * 1000)
#define PAUSE_LEAST_MS 250

struct loop {
    uint32_t magic;
    struct executor executor;
    struct env *env;
    struct rng rng;
    int epoll_fd, wake_fd;
    int64_t mono_ms, wall_ms;
    struct timers timers;
    struct io *changed;
    struct loop_hook *hooks, **hooks_end;
    void **deferred;
    size_t deferred_count, deferred_capacity;
    struct epoll_event events[EVENTS_PER_WAIT]; /* of this tick; .ptr NULL: do not report */
    int event_at, event_count;
    struct list reports;
    int64_t looked_ms;     /* what was ready until then is being handled, or was */
    bool was_ready;        /* the last look has found something */
    int64_t held_until_ms; /* behind a pause, timers wait for sockets until then; INT64_MIN: not */
    _Atomic(struct task *) posted; /* newest first */
    atomic_bool asleep, stop;
    atomic_llong woken_us; /* when the loop was last woken; 0: not since the last tick */
};

static struct timing turns, wakes;

static void loop_wake(struct loop *loop)
{
    if (!atomic_exchange(&loop->asleep, false))
        return;
    atomic_store(&loop->woken_us, timing_now_us());
    /* registered edge-triggered and never read: each write is a new edge */
    uint64_t one = 1;
    ASSERT(write(loop->wake_fd, &one, sizeof one) == sizeof one);
}

static void loop_post(struct executor *executor, struct task *task)
{
    struct loop *loop = CONTAINER_OF(executor, struct loop, executor);
    CHECK_MAGIC(loop, LOOP_MAGIC);
    struct task *head = atomic_load(&loop->posted);
    do
        task->next = head;
    while (!atomic_compare_exchange_weak(&loop->posted, &head, task));
    loop_wake(loop);
}

static void cache_clocks(struct loop *loop)
{
    loop->mono_ms = env_mono_ms(loop->env);
    loop->wall_ms = env_wall_ms(loop->env);
}

struct loop *loop_new(struct env *env)
{
    struct loop *loop = xcalloc(1, sizeof *loop);
    loop->magic = LOOP_MAGIC;
    loop->executor.post = loop_post;
    loop->env = env;
    loop->hooks_end = &loop->hooks;
    uint64_t seed;
    env_random(env, &seed, sizeof seed);
    rng_seed(&loop->rng, seed);
    cache_clocks(loop);
    loop->looked_ms = loop->mono_ms;
    loop->held_until_ms = INT64_MIN;
    /* these fail only if descriptors run out before anything was started */
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    ASSERT(loop->epoll_fd >= 0);
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ASSERT(loop->wake_fd >= 0);
    struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};
    ASSERT(epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->wake_fd, &e) == 0);
    signal(SIGPIPE, SIG_IGN);
    return loop;
}

static void free_deferred(struct loop *loop)
{
    for (size_t i = 0; i < loop->deferred_count; i++)
        free(loop->deferred[i]);
    loop->deferred_count = 0;
}

void loop_free(struct loop *loop)
{
    CHECK_MAGIC(loop, LOOP_MAGIC);
    ASSERT(atomic_load(&loop->posted) == NULL);
    free_deferred(loop);
    free(loop->deferred);
    timers_free(&loop->timers);
    close(loop->wake_fd);
    close(loop->epoll_fd);
    loop->magic = 0;
    free(loop);
}

/* ---- watching */

static void changed_remove(struct io *io)
{
    if (!io->changed_place)
        return;
    *io->changed_place = io->next_changed;
    if (io->next_changed)
        io->next_changed->changed_place = io->changed_place;
    io->next_changed = NULL;
    io->changed_place = NULL;
}

void loop_watch(struct loop *loop, struct io *io, int want)
{
    ASSERT(io->fd >= 0 && io->ready);
    io->want = want;
    if (io->want == io->armed) {
        changed_remove(io);
    } else if (!io->changed_place) {
        io->next_changed = loop->changed;
        if (io->next_changed)
            io->next_changed->changed_place = &io->next_changed;
        io->changed_place = &loop->changed;
        loop->changed = io;
    }
}

static void arm(struct loop *loop, struct io *io)
{
    /* EPOLL_CTL_MOD refuses EPOLLEXCLUSIVE: the descriptor is removed and added */
    bool fresh = io->armed == 0;
    if (!fresh && (io->want == 0 || ((io->want | io->armed) & IO_EXCLUSIVE))) {
        ASSERT(epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, io->fd, NULL) == 0);
        fresh = true;
    }
    if (io->want != 0) {
        struct epoll_event e = {.data.ptr = io};
        e.events = ((io->want & IO_READ) ? (uint32_t)EPOLLIN : 0) |
                   ((io->want & IO_WRITE) ? (uint32_t)EPOLLOUT : 0) |
                   ((io->want & IO_EXCLUSIVE) ? (uint32_t)EPOLLEXCLUSIVE : 0);
        ASSERT(epoll_ctl(loop->epoll_fd, fresh ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, io->fd, &e) == 0);
    }
    io->armed = io->want;
}

static void arm_changed(struct loop *loop)
{
    while (loop->changed) {
        struct io *io = loop->changed;
        changed_remove(io);
        arm(loop, io);
    }
}

void loop_unwatch(struct loop *loop, struct io *io)
{
    changed_remove(io);
    io->want = 0;
    if (io->armed == 0)
        return;
    arm(loop, io);
    for (int i = loop->event_at; i < loop->event_count; i++) {
        if (loop->events[i].data.ptr == io)
            loop->events[i].data.ptr = NULL;
    }
}

void loop_report_set(struct loop *loop, struct loop_report *report)
{
    ASSERT(report->report);
    if (!report->is_set)
        list_push(&loop->reports, &report->link);
    report->is_set = true;
}

void loop_report_clear(struct loop *loop, struct loop_report *report)
{
    if (report->is_set)
        list_remove(&loop->reports, &report->link);
    report->is_set = false;
}

/* Those that were set before this tick. */
static void run_reports(struct loop *loop, size_t count)
{
    for (; count > 0 && loop->reports.count > 0; count--) {
        struct loop_report *r = CONTAINER_OF(loop->reports.first, struct loop_report, link);
        loop_report_clear(loop, r);
        r->report(r);
    }
}

static void dispatch(struct loop *loop)
{
    size_t reports = loop->reports.count;
    while (loop->event_at < loop->event_count) {
        const struct epoll_event *e = &loop->events[loop->event_at++];
        struct io *io = e->data.ptr;
        if (!io)
            continue;
        int seen = ((e->events & EPOLLIN) ? IO_READ : 0) | ((e->events & EPOLLOUT) ? IO_WRITE : 0);
        if (e->events & (EPOLLERR | EPOLLHUP))
            seen = IO_READ | IO_WRITE;
        seen &= io->want;
        if (seen)
            io->ready(io, seen);
    }
    run_reports(loop, reports);
    loop->event_at = loop->event_count = 0;
}

/* ---- timers */

void loop_timer_set(struct loop *loop, struct timer *timer, int64_t at_mono_ms)
{
    /* not into the past: a timer that sets itself "at once" must come after all that are due */
    timers_set(&loop->timers, timer, at_mono_ms > loop->mono_ms ? at_mono_ms : loop->mono_ms);
}

void loop_timer_clear(struct loop *loop, struct timer *timer)
{
    timers_clear(&loop->timers, timer);
}

static bool may_run_timers(struct loop *loop)
{
    int64_t next_ms = timers_next_mono_ms(&loop->timers);
    if (loop->mono_ms < next_ms || loop->mono_ms < loop->held_until_ms)
        return false;
    return loop->looked_ms >= next_ms;
}

static void run_due_timers(struct loop *loop)
{
    uint64_t before = loop->timers.next_sequence;
    struct timer *timer;
    if (!may_run_timers(loop))
        return;
    int64_t until_ms = loop->looked_ms < loop->mono_ms ? loop->looked_ms : loop->mono_ms;
    while ((timer = timers_take_due(&loop->timers, until_ms, before)) != NULL)
        timer->fire(timer);
}

/* ---- the tick */

static void run_posted(struct loop *loop)
{
    struct task *newest = atomic_exchange(&loop->posted, NULL), *oldest = NULL;
    while (newest) {
        struct task *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest) {
        struct task *task = oldest;
        oldest = task->next; /* before run, which may free the task */
        task->run(task);
    }
}

static int wait_ms(const struct loop *loop, int64_t now_ms)
{
    int64_t next = timers_next_mono_ms(&loop->timers);
    if (loop->reports.count > 0)
        return 0;
    if (next == INT64_MAX)
        return WAIT_MAX_MS;
    int64_t ms = next - now_ms;
    return ms <= 0 ? 0 : ms > WAIT_MAX_MS ? WAIT_MAX_MS : (int)ms;
}

/* n: what the wait has returned. A wait that has reported as many as it can counts as a look, too:
 * otherwise no timer would run while that many are ready. */
static void note_looked(struct loop *loop, int n, int64_t until_ms)
{
    if (n >= 0)
        loop->looked_ms = until_ms;
    loop->was_ready = n != 0 || loop->reports.count > 0;
    if (!loop->was_ready)
        loop->held_until_ms = INT64_MIN;
}

/* Call it after note_looked. While timers are held, they are held for no longer: else a loop each
 * of whose ticks takes so long would run none. */
static void note_pause(struct loop *loop, int64_t last_mono_ms)
{
    bool is_held = last_mono_ms < loop->held_until_ms;
    if (loop->was_ready && !is_held && loop->mono_ms - last_mono_ms > PAUSE_LEAST_MS)
        loop->held_until_ms = loop->mono_ms + TIMERS_HELD_MOST_MS;
}

static void wait_for_events(struct loop *loop)
{
    arm_changed(loop);
    int64_t now_ms = env_mono_ms(loop->env); /* not the cached one: the tick itself took time */
    int ms = wait_ms(loop, now_ms);
    if (ms > 0) {
        atomic_store(&loop->asleep, true);
        if (atomic_load(&loop->posted) || atomic_load(&loop->stop))
            ms = 0;
    }
    int n = epoll_wait(loop->epoll_fd, loop->events, EVENTS_PER_WAIT, ms);
    atomic_store(&loop->asleep, false);
    ASSERT(n >= 0 || errno == EINTR);
    loop->event_at = 0;
    loop->event_count = n > 0 ? n : 0;
    note_looked(loop, n, n == 0 ? now_ms + ms : now_ms);
}

/* A turn lasts from here to the next wait. */
static int64_t begin_turn(struct loop *loop)
{
    int64_t now_us = timing_now_us(), woken_us = atomic_exchange(&loop->woken_us, 0);
    if (woken_us != 0)
        timing_add(&wakes, now_us - woken_us);
    int64_t last_mono_ms = loop->mono_ms;
    cache_clocks(loop);
    note_pause(loop, last_mono_ms);
    return now_us;
}

static void finish_tick(struct loop *loop)
{
    run_posted(loop);
    for (struct loop_hook *hook = loop->hooks; hook; hook = hook->next)
        hook->run(hook);
    free_deferred(loop);
}

void loop_run(struct loop *loop)
{
    CHECK_MAGIC(loop, LOOP_MAGIC);
    while (!atomic_load(&loop->stop)) {
        wait_for_events(loop);
        int64_t begin_us = begin_turn(loop);
        dispatch(loop);
        run_due_timers(loop);
        finish_tick(loop);
        timing_add_since(&turns, begin_us);
    }
    while (atomic_load(&loop->posted))
        finish_tick(loop);
    atomic_store(&loop->stop, false);
}

void loop_stop(struct loop *loop)
{
    atomic_store(&loop->stop, true);
    loop_wake(loop);
}

/* ---- accessors */

struct executor *loop_executor(struct loop *loop)
{
    return &loop->executor;
}

int64_t loop_mono_ms(const struct loop *loop)
{
    return loop->mono_ms;
}

int64_t loop_wall_ms(const struct loop *loop)
{
    return loop->wall_ms;
}

struct env *loop_env(const struct loop *loop)
{
    return loop->env;
}

void loop_get_timings(struct loop_timings *ret)
{
    timing_get(&turns, &ret->turn);
    timing_get(&wakes, &ret->wake);
}

struct rng *loop_rng(struct loop *loop)
{
    return &loop->rng;
}

void loop_at_tick_end(struct loop *loop, struct loop_hook *hook)
{
    ASSERT(hook->run);
    hook->next = NULL;
    *loop->hooks_end = hook;
    loop->hooks_end = &hook->next;
}

void loop_free_later(struct loop *loop, void *p)
{
    if (!p)
        return;
    loop->deferred = xgrow(loop->deferred, &loop->deferred_capacity, loop->deferred_count + 1,
                           sizeof *loop->deferred);
    loop->deferred[loop->deferred_count++] = p;
}
