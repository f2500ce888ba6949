/* An event loop, one for each thread: sockets, timers, tasks from other threads; on epoll.
 *
 * The order of a tick is part of the contract, because durability depends on it: (1) cache the
 * clocks, (2) dispatch sockets, (3) run due timers, (4) run posted tasks, (5) run the end-of-tick
 * hooks (submit what the tick has collected: outcomes, intake), (6) free what was deferred. Sockets
 * come before timers, so that a delayed loop first takes data that came in time before it reports a
 * timeout. After a pause of the process (SIGSTOP, a virtual machine that was paused) one tick is
 * not enough for that: timers then wait until a tick has found no socket ready, but for at most
 * TIMERS_HELD_MOST_MS. A loop that is only busy holds no timer.
 *
 * Everything except loop_executor, loop_stop and posting is for the loop's own thread (or for the
 * thread that sets it up before loop_run).
 *
 * Posting costs a system call only if the loop is asleep, and then one for all posts until it
 * wakes; posting from the loop's own thread never costs one. A task that is posted by a task runs
 * in the next tick, so that tasks cannot starve sockets. */
#pragma once

#include "base/env.h"
#include "base/executor.h"
#include "base/list.h"
#include "base/timing.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;

#define TIMERS_HELD_MOST_MS 200

/* Also ignores SIGPIPE in the process: writing to a closed connection returns an error instead. */
struct loop *loop_new(struct env *env);
void loop_free(struct loop *loop); /* after loop_run has returned */
/* Runs until loop_stop; runs posted tasks before it returns. May be called again afterwards. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop); /* any thread */
struct executor *loop_executor(struct loop *loop);
int64_t loop_mono_ms(const struct loop *loop); /* cached at the start of the tick */
int64_t loop_wall_ms(const struct loop *loop);
struct env *loop_env(const struct loop *loop);
struct rng *loop_rng(struct loop *loop);

/* IO_EXCLUSIVE, with IO_READ, for a listening socket that several loops watch: a new connection
 * wakes one of them instead of all (EPOLLEXCLUSIVE). It is never reported. */
enum { IO_READ = 1, IO_WRITE = 2, IO_EXCLUSIVE = 4 };

/* A watched descriptor, embedded in its owner. Level-triggered, as set by `want`; errors and
 * hang-ups are reported as the wanted events. Changing `want` costs no system call until the wait
 * (changes of a tick are merged). After loop_unwatch or with less wanted, events of this tick are
 * not reported any more: `ready` is never called for a freed owner. */
struct io {
    int fd;
    void (*ready)(struct io *io, int events);
    int want, armed; /* from here on: the loop's */
    struct io *next_changed, **changed_place;
};
void loop_watch(struct loop *loop, struct io *io,
                int want);                           /* also changes `want`; 0: keep, but silent */
void loop_unwatch(struct loop *loop, struct io *io); /* before close(fd) */

/* Bytes that were read from a socket and are not handled yet, so that epoll does not report them:
 * `report` is called with the sockets of the next tick. Zero-initialised is idle. */
struct loop_report {
    void (*report)(struct loop_report *report);
    struct link link; /* internal */
    bool is_set;
};
void loop_report_set(struct loop *loop, struct loop_report *report); /* nothing if it is set */
void loop_report_clear(struct loop *loop, struct loop_report *report);

/* A timer, embedded in its owner; ordered by (time, sequence). Zero-initialised is idle. A timer
 * set from a timer fires in the next tick at the earliest. */
struct timer {
    void (*fire)(struct timer *timer);
    int64_t at_mono_ms;
    uint64_t sequence;
    size_t heap_place; /* internal; 0: idle */
};
void loop_timer_set(struct loop *loop, struct timer *timer,
                    int64_t at_mono_ms); /* moves a timer that is set */
void loop_timer_clear(struct loop *loop, struct timer *timer);

/* Over all loops of the process: the time from one wait to the next, and the delay between the
 * first post to a sleeping loop and its wake-up. */
struct loop_timings {
    struct timing_numbers turn, wake;
};
void loop_get_timings(struct loop_timings *ret); /* any thread */

struct loop_hook {
    void (*run)(struct loop_hook *hook);
    struct loop_hook *next;
};
/* must live as long as the loop */
void loop_at_tick_end(struct loop *loop, struct loop_hook *hook);

/* free(p) at the end of the tick, because callbacks further up the stack may still use it. */
void loop_free_later(struct loop *loop, void *p);
