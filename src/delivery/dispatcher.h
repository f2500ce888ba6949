/* The driver of one loop's lanes: asks lane_decide what a lane does next, and does it. Private to
 * delivery/.
 *
 * There is one dispatcher for each loop. Only the loop's thread uses it, except for the inbox and
 * the published numbers. An event touches the lanes that it concerns. The end of the tick visits
 * the touched lanes, gives turns to those that may start attempts, and submits the tick's
 * outcomes. */
#pragma once

#include "delivery/callback_request.h"
#include "delivery/delivery.h"
#include "delivery/dispatcher_runtime.h"
#include "delivery/lane.h"
#include "delivery/lane_affinity.h"

#include <pthread.h>
#include <stdatomic.h>

#define DISPATCHER_MAGIC 0xD15BA7C4u
#define DISPATCHER_QUANTUM 4 /* starts in one turn of a lane */
/* Starts in one tick. The bound lets a fast receiver answer the first attempts before more start,
 * so that those reuse its connections while they are in the processor's cache; without it each
 * start of the tick would open its own connection. A slow receiver loses nothing, because the next
 * tick follows at once. */
#define DISPATCHER_TICK_STARTS 64
#define DISPATCHER_PAGES 64           /* pages asked for and not answered yet */
#define DISPATCHER_OUTCOMES 1024      /* a batch of this size is submitted before the tick ends */
#define DISPATCHER_CHECK_MS MINUTE_MS /* a jump of the wall clock is noticed within this time */
#define DISPATCHER_STOP_SLACK_MS 2000

enum note_kind {
    NOTE_WAITING,
    NOTE_APP,
    NOTE_GONE_SETTLED,
    NOTE_LEASES,
    NOTE_ERASED, /* number: the account; mono_ms */
    NOTE_STOP
};
struct note {
    enum note_kind kind;
    uint64_t number; /* lane or app_no */
    int64_t due_ms;  /* NOTE_WAITING */
    int64_t late_ms; /* NOTE_WAITING: from a lane that changes its loop, see lane_note_late */
    int64_t mono_ms; /* callbacks read before may be the panelist's */
};

/* What other threads leave for the dispatcher. It is an array and no list through callback.next,
 * because the store may hand over a callback again that is still linked in a lane's queue. */
struct inbox {
    pthread_mutex_t lock;
    struct task task;
    bool posted, closed;
    atomic_bool has_erasure; /* a NOTE_ERASED waits: no request is written before it is taken */
    struct callback **callbacks;
    size_t count, capacity;
    /* callbacks beyond this many bytes are dropped, and their lanes page them */
    size_t bytes, most_bytes;
    struct note *notes;
    size_t note_count, note_capacity;
};

/* One attempt: an exchange under way and what it was started for. */
struct delivery_attempt {
    struct exchange x;
    struct client_identity identity; /* the app's certificate; x points at it if there is one */
    struct dispatcher *dispatcher;
    struct link link;
    struct lane *lane; /* NULL: a test callback */
    struct callback *callback;
    struct delivery_test *test;
    struct destination *destination;
    struct app *app;
    struct url url; /* a test's own URL, or one with macros replaced; otherwise the app's is used */
    struct callback_request request;
    int64_t at_wall_ms, ends_mono_ms;
    uint64_t resend_no; /* the latest resend that was known when the attempt began */
    unsigned lapses;    /* of the leases, when the attempt began */
    bool is_probe;      /* the probe of a dead destination */
    bool is_shut;       /* the single attempt of a lane that was shut */
    bool is_sick;       /* counted in the seats of sick lanes */
};

struct outcomes_sent;

struct dispatcher_room { /* room for callbacks in memory */
    int64_t total, reserved, bytes;
    struct list wanted_by; /* lanes */
};

struct dispatcher_seats { /* seats for attempts under way */
    int64_t total, taken, by_sick, by_tests;
    int64_t tick_starts; /* attempts started in this tick */
};

struct dispatcher_attempts {
    struct list under_way;
    struct list finished; /* ended attempts, freed at the end of the tick */
    struct list spare;    /* kept for reuse; their number is bounded */
};

struct dispatcher_recording { /* outcomes on their way into the store */
    struct outcomes_sent *gathering, *spare;
    int64_t bytes, most_bytes;
    int32_t under_way; /* batches */
    int32_t old;       /* batches submitted before the clock was put back */
};

struct dispatcher_clock {
    uint32_t epoch; /* incremented each time it is put back */
    int64_t wall_ms, mono_ms;
    bool jumped;     /* it was set forward: waiting callbacks may be due */
    int64_t back_ms; /* it was put back by this much: see dispatcher_watch_clock */
};

/* Numbers for other threads: some are updated at the end of each tick, some with each attempt. */
struct dispatcher_published {
    atomic_llong in_flight, in_ram, lanes, suspended, read_back;
    atomic_llong attempts[ATTEMPT_CLASSES];
    atomic_llong durations[LATENCY_BUCKETS], duration_ms_total;
};

struct dispatcher {
    uint32_t magic;
    int index;
    struct delivery *delivery;
    struct dispatcher_runtime *runtime;
    struct hash_map lanes, healths; /* by hash_number of the lane number */
    struct hash_map destinations;
    struct list touched, ready[2]; /* ready: 0 healthy, 1 sick */
    struct wake_heap heap;
    struct schedule schedule;
    struct lane_shared shared;
    struct dispatcher_room room;
    struct dispatcher_seats seats;
    struct dispatcher_attempts attempts;
    struct dispatcher_recording recording;
    struct dispatcher_clock clock;
    int32_t pages;
    int64_t health_swept_mono_ms;
    int64_t wake_mono_ms; /* the wake-up time that is set now */
    bool failed, stopping, stopped;
    bool behind; /* at the end of the last tick: see delivery_is_behind */
    int64_t suspended;
    int64_t local_fault_next_mono_ms; /* the next lane that is held waits until then at least */
    struct inbox inbox;
    struct dispatcher_published published;
};

/* One kind of local fault, on all loops. */
struct local_fault_tally {
    atomic_llong count, last_mono_ms, last_wall_ms; /* last: 0: it has not happened */
};

struct delivery {
    struct delivery_options options; /* its loops and senders are used at the start only */
    struct leases *leases;           /* NULL: this process delivers every lane */
    struct lane_affinity *affinity;
    struct dispatcher **dispatchers;
    size_t count;
    struct owed_sink sink;
    bool owns_runtimes;
    int64_t newest_event_ms; /* when the newest event before the start was accepted; 0: none was */
    struct local_fault_tally local_faults[LOCAL_FAULTS];
    /* stopping */
    atomic_size_t running;
    struct executor *reply_to;
    struct task *stopped;
};

/* As delivery_new, on runtimes that the caller makes and frees; loops and senders in the options
 * are ignored. For tests and simulators. */
struct delivery *delivery_new_on(const struct delivery_options *options,
                                 struct dispatcher_runtime **runtimes, size_t count);
/* The loop that the lane of this URL belongs to; LOOP_NONE if there is no URL. */
int delivery_loop_of(const struct delivery *delivery, const struct app *app, enum lane_kind kind);

/* dispatcher.c */
struct dispatcher *dispatcher_new(struct delivery *delivery, int index,
                                  struct dispatcher_runtime *runtime, int64_t seats, int64_t room);
void dispatcher_set_schedule(struct dispatcher *d, const struct schedule *schedule);
void dispatcher_free(struct dispatcher *d);
int32_t dispatcher_room(const struct dispatcher *d, const struct lane *lane);
void dispatcher_touch(struct dispatcher *d, struct lane *lane);
/* Finds or makes a lane. NULL: another loop owns it, and that loop has been told; or another node
 * does. */
struct lane *dispatcher_lane(struct dispatcher *d, lane_no no);
struct lane *dispatcher_find(const struct dispatcher *d, lane_no no); /* NULL: not in memory */
/* Copies the lane's settings from its app (NULL: the app is deleted) and joins the destination of
 * its URL. */
void dispatcher_set_lane(struct dispatcher *d, struct lane *lane, const struct app *app);
void dispatcher_refresh(struct dispatcher *d, struct lane *lane);
void dispatcher_watch_leases(struct dispatcher *d); /* lanes whose shards are lost leave */

/* dispatcher_clock.c */
/* The wall clock as lanes see it. While the system's clock is behind by at most ACCEPTANCE_HELD_MS
 * (domain/acceptance_times.h), this clock goes on with the monotonic one, so that what was due
 * stays due. If the system's clock is further behind, this one goes back with it. */
struct lane_now dispatcher_now(struct dispatcher *d);
/* Runs at the end of a tick: handles a change of the wall clock. */
void dispatcher_watch_clock(struct dispatcher *d);
/* A batch of outcomes that was submitted before the clock was put back is durable. */
void dispatcher_recorded_old(struct dispatcher *d);
/* By how much a callback from the store is due later than its place in the schedule allows; 0: it
 * is not late. */
int64_t dispatcher_late_ms(const struct dispatcher *d, const struct lane *lane,
                           const struct schedule_place *place, const struct lane_now *now);
/* Callbacks of the lane wait in the store. The process that dated them, an earlier one or another
 * node, may have had a wrong clock: looks once for callbacks that are due too late. */
void dispatcher_suspect_dates(struct dispatcher *d, struct lane *lane);
/* Handles one callback of a PAGE_LATE: dates it anew. */
void dispatcher_date(struct dispatcher *d, struct lane *lane, const struct callback *c);

/* dispatcher_destination.c */
struct destination *dispatcher_destination(struct dispatcher *d, const struct app *app,
                                           const struct url *url);
void dispatcher_let_destination_go(struct dispatcher *d, struct destination *to);
void dispatcher_join(struct dispatcher *d, struct lane *lane, struct destination *to);
void dispatcher_leave_destination(struct dispatcher *d, struct lane *lane);
void dispatcher_block(struct dispatcher *d, struct lane *lane, bool blocked);
/* touches the next lane that waits for this destination */
void dispatcher_wake_blocked(struct dispatcher *d, struct destination *to);
void dispatcher_judge_destination(struct dispatcher *d, struct delivery_attempt *t);
/* ends the probe of a dead destination, if the attempt is one */
void dispatcher_end_probe(struct delivery_attempt *t);
void dispatcher_settle_probe(struct dispatcher *d, struct lane *lane);

/* dispatcher_attempt.c */
bool dispatcher_has_seat(const struct dispatcher *d, bool sick);
/* Starts the lane's next attempt. False: the settings have changed, or this node no longer holds
 * the lane: decide again. */
bool dispatcher_start(struct dispatcher *d, struct lane *lane);
void dispatcher_skip(struct dispatcher *d, struct lane *lane);
void dispatcher_start_test(struct dispatcher *d, struct delivery_test *test);
void dispatcher_cancel_all(struct dispatcher *d);
/* dispatcher_local_fault.c: an attempt, also a test's, was not made by a fault of this machine */
void dispatcher_note_local_fault(struct dispatcher *d, struct delivery_attempt *t);
/* dispatcher_may_send.c: exchange.may_send of every attempt where the store is shared */
bool dispatcher_may_send(struct exchange *x);
/* dispatcher_attempt_pool.c */
struct delivery_attempt *dispatcher_take_attempt(struct dispatcher *d);
void dispatcher_free_finished(struct dispatcher *d);
void dispatcher_free_spare(struct dispatcher *d);
void dispatcher_free_spare_recording(struct dispatcher *d);

/* dispatcher_health.c */
void dispatcher_count(struct dispatcher *d, const struct delivery_attempt *t,
                      const struct lane_now *now);
/* counts the attempt of a test callback */
void dispatcher_count_attempt(struct dispatcher *d, const struct delivery_attempt *t);
void dispatcher_fill_health(struct dispatcher *d, struct lane_health_query *query);
void dispatcher_fill_briefs(struct dispatcher *d, struct delivery_briefs *briefs); /* its own */
void dispatcher_free_healths(struct dispatcher *d, bool all);
struct health *dispatcher_find_health(const struct dispatcher *d, lane_no no); /* or NULL */

/* dispatcher_lane_state.c */
/* Logs and reports the lane's state if it has changed since the last visit. */
void dispatcher_note_state(struct dispatcher *d, struct lane *lane, const struct lane_now *now);
/* Reports the first success of an open lane since it came into memory or became open. */
void dispatcher_note_success(struct dispatcher *d, struct lane *lane);
/* Before the lane is forgotten: its next callback finds it open, so the log says that a suspension
 * or a pause is over. It is not reported: no callback has shown that the receiver works again. */
void dispatcher_note_forgotten(struct dispatcher *d, const struct lane *lane);

/* dispatcher_overview.c */
void dispatcher_oversee(struct dispatcher *d, struct delivery_overview *to); /* adds */

/* dispatcher_account.c: all lanes of one account */
void dispatcher_erase(struct dispatcher *d, uint32_t account_no, struct str panelist_id,
                      int64_t mono_ms);
/* Another node has erased a panelist of the account: drops the account's waiting callbacks and
 * pages them again. */
void dispatcher_reread(struct dispatcher *d, uint32_t account_no, int64_t mono_ms);
void dispatcher_add_tried(struct dispatcher *d, struct delivery_tried *tried);

/* dispatcher_store.c */
bool dispatcher_store_failed(struct dispatcher *d, enum store_status status);
/* True if the bound on outcomes that are not recorded yet is reached: the store is slow, or cannot
 * be written. */
static inline bool dispatcher_outcomes_full(const struct dispatcher *d)
{
    return d->recording.bytes >= d->recording.most_bytes;
}
void dispatcher_page(struct dispatcher *d, struct lane *lane, const struct lane_decision *what);
/* The outcome of a callback at its present place in the schedule; the caller says what has become
 * of it. */
struct outcome dispatcher_outcome_of(const struct lane *lane, const struct callback *c);
/* Adds an outcome to the batch; copies the attempt's texts. */
void dispatcher_record(struct dispatcher *d, const struct outcome *outcome);
void dispatcher_submit(struct dispatcher *d);

/* dispatcher_inbox.c */
void dispatcher_open_inbox(struct dispatcher *d);
void dispatcher_close_inbox(struct dispatcher *d);
/* Any thread. Owns the callbacks from the call on; frees them if the inbox is closed. */
void dispatcher_hand(struct dispatcher *d, struct callback **callbacks, size_t count);
void dispatcher_tell(struct dispatcher *d, struct note note);
