/* The runtime for delivery_world.h: clocks, receivers, a directory of a few apps. */
#pragma once

#include "check.h"

#include "base/alloc.h"
#include "base/log.h"
#include "delivery/dispatcher.h"
#include "store/store_ops.h"

#include <stdlib.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

#define WORLD_LOOPS_MAX 3
#define WORLD_APPS_MAX 600
#define WORLD_START_WALL_MS INT64_C(1763726400000)
#define WORLD_START_MONO_MS INT64_C(1000000)

struct world_row {
    uint64_t event_no;
    lane_no lane;
    struct callback_life life;
    int32_t oks, resends;
    struct pending_resend resend;
    const char *panelist; /* NULL: "p" */
    bool is_erased;
    int64_t last_try_wall_ms, first_try_wall_ms;
    enum attempt_class last_class;
    size_t last_header_bytes; /* of the answer, as logged */
};

struct world_exchange {
    struct exchange *x;
    struct world_loop *loop;
    int64_t ends_mono_ms;
    struct world_exchange *next;
};

struct world_loop {
    struct dispatcher_runtime runtime;
    struct executor executor;
    struct task *first, *last;
    int64_t wake_mono_ms;
    struct world *world;
    struct rng rng;
};

/* What a receiver answers. */
struct world_answer {
    enum attempt_class class;
    int status;
    int64_t after_ms;       /* -1: hangs until the deadline (ATTEMPT_TIMEOUT) */
    int64_t retry_after_ms; /* -1: none */
};

struct world_store_job {
    struct task task; /* unused link holder */
    struct outcome_batch *batch;
    struct due_page *page;
    int64_t read_mono_ms, done_mono_ms;
    bool read;
    struct world_store_job *next;
};

struct world {
    enum local_fault fault; /* the answer of now is that the attempt was not made */
    int64_t wall_skew_ms, mono_ms;
    int64_t clock_ahead_ms; /* of mono_ms, the time of the tick, until the next tick */
    struct world_loop loops[WORLD_LOOPS_MAX];
    size_t loop_count;
    struct world_exchange *exchanges;
    int lapses_left; /* of the leases: each between a start and its request */
    int32_t in_flight, in_flight_max;
    int64_t starts;

    struct store store;
    struct world_row *rows;
    size_t row_count, row_capacity;
    struct world_store_job *jobs;
    struct rng rng;
    int64_t store_delay_ms;  /* at most; each job draws */
    int64_t record_delay_ms; /* of each batch of outcomes, besides */
    int64_t pages_asked, records;
    uint64_t resends;
    enum store_status page_status;
    struct leases leases;   /* where the store is shared */
    int64_t fences[SHARDS]; /* what the store itself has */
    int64_t outcomes_refused;

    struct app *apps[WORLD_APPS_MAX]; /* by app_no */
    struct delivery *delivery;
    struct world_answer (*answer)(struct world *w, const struct exchange *x, uint32_t app_no);
    int32_t disables_asked;
    struct lane_notice notices[32]; /* the first ones; app and detail are not kept */
    int64_t notice_count;
    bool stopped;
    struct task stopped_task;
    int64_t tries[WORLD_APPS_MAX], app_in_flight[WORLD_APPS_MAX], app_in_flight_max[WORLD_APPS_MAX];
    bool double_try; /* an event was tried while another try of it was under way */
};

extern struct world *world_now_in_use; /* the fakes below have no other way to find it */

/* --- the directory, in place of the real one --- */

/* --- the sender, in place of the real one --- */

/* "http://hostN:80/appM/..." */
uint32_t world_app_of(const struct exchange *x);

uint64_t world_event_of(const struct exchange *x);

int64_t world_wall(struct dispatcher_runtime *o);

int64_t world_mono(struct dispatcher_runtime *o);
int64_t world_clock(struct dispatcher_runtime *o);

struct world_row *world_row(struct world *w, uint32_t app_no, uint64_t event_no);

void world_start(struct dispatcher_runtime *o, struct exchange *x);

void world_unlink(struct world *w, struct world_exchange **at);

void world_cancel(struct dispatcher_runtime *o, struct exchange *x);

void world_wake_at(struct dispatcher_runtime *o, int64_t mono_ms);

void world_post(struct executor *ex, struct task *task);
