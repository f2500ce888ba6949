/* One event loop per thread: sockets, timers, tasks from other threads. epoll underneath.
 *
 * The order of a tick, written down because durability depends on it: (1) cache the clocks,
 * (2) dispatch sockets, (3) run due timers, (4) run posted tasks, (5) run the end-of-tick hooks
 * (submit what the tick gathered: outcomes, intake), (6) free what was deferred. Sockets come
 * before timers so that a loop that was held up takes what came in time before it calls it late.
 * Everything but loop_executor, loop_stop and posting is for the loop's own thread (or for whoever
 * sets it up before loop_run).
 *
 * Posting costs a system call only when the loop is asleep, and then one however many posts come
 * before it wakes; posting from the loop's own thread never costs one. What a task posts runs in
 * the next tick, so that tasks cannot starve sockets. */
#pragma once

#include "base/env.h"
#include "base/executor.h"
#include "base/timing.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;

/* Also ignores SIGPIPE for the process: a peer that went away is an error code of a write. */
struct loop *loop_new(struct env *env);
void loop_free(struct loop *loop); /* after loop_run has returned */
/* Until loop_stop; runs posted tasks before it returns. May be called again afterwards. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop); /* any thread */
struct executor *loop_executor(struct loop *loop);
int64_t loop_mono_ms(const struct loop *loop); /* cached at the tick's begin */
int64_t loop_wall_ms(const struct loop *loop);
struct env *loop_env(const struct loop *loop);
struct rng *loop_rng(struct loop *loop);

/* IO_EXCLUSIVE, with IO_READ, on a listening socket watched by several loops: a new connection
 * wakes one of them instead of all (EPOLLEXCLUSIVE). It is never reported. */
enum { IO_READ = 1, IO_WRITE = 2, IO_EXCLUSIVE = 4 };

/* A watched descriptor, embedded in its owner. Level-triggered as told by `want`; errors and
 * hang-ups are reported as whatever was wanted. Changing `want` costs no system call until the
 * wait (changes of one tick are merged). Once unwatched or wanting less, what was already seen in
 * this tick is not reported any more: `ready` never meets a freed owner. */
struct io {
    int fd;
    void (*ready)(struct io *io, int events);
    int want, armed; /* these and below: the loop's */
    struct io *next_changed, **changed_place;
};
void loop_watch(struct loop *loop, struct io *io,
                int want);                           /* also changes; want 0: keep, but silent */
void loop_unwatch(struct loop *loop, struct io *io); /* before close(fd) */

/* A timer, embedded in its owner; ordered by (time, sequence). Zero-initialised is idle. A timer
 * set from a timer fires in the next tick at the earliest. */
struct timer {
    void (*fire)(struct timer *timer);
    int64_t at_mono_ms;
    uint64_t sequence;
    size_t heap_place; /* the loop's; 0: idle */
};
void loop_timer_set(struct loop *loop, struct timer *timer,
                    int64_t at_mono_ms); /* moves when set */
void loop_timer_clear(struct loop *loop, struct timer *timer);

/* Of all loops of the process: what a loop does between two waits, and how long after the first
 * post to a sleeping one it runs. */
struct loop_timings {
    struct timing_numbers turn, wake;
};
void loop_get_timings(struct loop_timings *ret); /* any thread */

struct loop_hook {
    void (*run)(struct loop_hook *hook);
    struct loop_hook *next;
};
void loop_at_tick_end(struct loop *loop, struct loop_hook *hook); /* for the loop's life */

/* free(p) at the end of the tick: callbacks further up the stack may still look at it. */
void loop_free_later(struct loop *loop, void *p);
