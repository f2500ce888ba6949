/* The driver of one loop's lanes: asks lane_decide what to do and does it. Private to delivery/.
 *
 * One dispatcher per loop; everything is the loop's own thread's, but for the inbox and the
 * published numbers. What happens to a lane touches it; the end of the tick visits the touched
 * ones, gives turns to those that may start something, and submits the tick's outcomes. */
#pragma once

#include "delivery/delivery.h"
#include "delivery/lane.h"
#include "delivery/outside.h"
#include "delivery/owners.h"
#include "delivery/request.h"

#include <pthread.h>
#include <stdatomic.h>

#define DISPATCHER_MAGIC 0xD15BA7C4u
#define DISPATCHER_QUANTUM 4 /* starts of one lane's turn */
/* Starts of one tick. A receiver that answers at once has answered the first ones by then, so that
 * the next go out on connections that are still in the processor's cache; of all that could start
 * at once each would go out on a connection of its own. One that is far away is not held up: the
 * next tick follows at once. */
#define DISPATCHER_TICK_STARTS 64
#define DISPATCHER_PAGES 64       /* pages under way at once */
#define DISPATCHER_OUTCOMES 1024  /* a batch that long is submitted before the tick's end */
#define DISPATCHER_CHECK_MS 60000 /* how long a jump of the wall clock may go unnoticed */
#define DISPATCHER_STOP_SLACK_MS 2000

enum note_kind {
    NOTE_WAITING,
    NOTE_APP,
    NOTE_GONE_SETTLED,
    NOTE_LEASES,
    NOTE_ERASED, /* number: the account */
    NOTE_STOP
};
struct note {
    enum note_kind kind;
    uint64_t number; /* lane or app_no */
    int64_t due_ms;  /* NOTE_WAITING */
    int64_t late_ms; /* NOTE_WAITING: of a lane that moves, see lane_note_late */
};

/* What other threads leave for the dispatcher. Not linked through callback.next: the store may
 * hand over again what still stands in a lane's queue. */
struct inbox {
    pthread_mutex_t lock;
    struct task task;
    bool posted, closed;
    struct callback **callbacks;
    size_t count, capacity;
    size_t bytes, most_bytes; /* beyond, they are dropped: their lanes page them */
    struct note *notes;
    size_t note_count, note_capacity;
};

/* One exchange under way. */
struct
try {
    struct exchange x;
    struct client_identity identity; /* the app's; x points at it when there is one */
    struct dispatcher *dispatcher;
    struct link link;
    struct lane *lane; /* NULL: a test callback */
    struct callback *callback;
    struct delivery_test *test;
    struct destination *destination;
    struct app *app;
    struct url url; /* a test's own, or with macros replaced; else the app's is used */
    struct callback_request request;
    int64_t at_wall_ms, ends_mono_ms;
    uint64_t resend_no; /* the latest resend known when it began */
    bool is_probe;      /* granted by a dead destination */
    bool is_shut;       /* the one try of a lane that was shut */
    bool is_sick;       /* counted among the sick lanes' seats */
};

struct outcomes_sent;

struct dispatcher_room { /* for callbacks in memory */
    int64_t total, reserved, bytes;
    struct list wanted_by; /* lanes */
};

struct dispatcher_seats { /* for tries under way */
    int64_t total, taken, by_sick, by_tests;
    int64_t tick_starts; /* so many were started in this tick */
};

struct dispatcher_tries {
    struct list under_way;
    struct list finished; /* to be freed at the tick's end */
    struct list spare;    /* to be used again, a bounded number */
};

struct dispatcher_recording { /* outcomes, on their way into the store */
    struct outcomes_sent *gathering, *spare;
    int64_t bytes, most_bytes;
    int32_t under_way; /* batches */
    int32_t old;       /* of these, from before the clock was put back */
};

struct dispatcher_clock {
    uint32_t epoch; /* how often it was put back */
    int64_t wall_ms, mono_ms;
    bool jumped;     /* forward: what waited may be due */
    int64_t back_ms; /* it was put back by so much: see dispatcher_watch_clock */
};

/* For any thread: some of it at the end of each tick, some with each attempt. */
struct dispatcher_published {
    atomic_llong in_flight, in_ram, lanes, suspended;
    atomic_llong attempts[ATTEMPT_CLASSES];
    atomic_llong durations[DELIVERY_DURATIONS], duration_ms_total;
};

struct dispatcher {
    uint32_t magic;
    int index;
    struct delivery *delivery;
    struct outside *outside;
    struct hash_map lanes, healths; /* by hash_number of the lane's */
    struct hash_map destinations;
    struct list touched, ready[2]; /* ready: 0 healthy, 1 sick */
    struct wake_heap heap;
    struct schedule schedule;
    struct lane_shared shared;
    struct dispatcher_room room;
    struct dispatcher_seats seats;
    struct dispatcher_tries tries;
    struct dispatcher_recording recording;
    struct dispatcher_clock clock;
    int32_t pages;
    int64_t health_swept_mono_ms;
    int64_t wake_mono_ms; /* what the outside has been told */
    bool failed, stopping, stopped;
    int64_t suspended;
    struct inbox inbox;
    struct dispatcher_published published;
};

struct delivery {
    struct delivery_options options; /* loops and senders: of the start alone */
    struct leases *leases;           /* NULL: every lane is ours */
    struct owners *owners;
    struct dispatcher **dispatchers;
    size_t count;
    struct owed_sink sink;
    bool owns_outsides;
    /* stopping */
    atomic_size_t running;
    struct executor *reply_to;
    struct task *stopped;
};

/* delivery.h on outsides of the caller's; loops and senders in the options are not looked at.
 * The outsides stay the caller's. */
struct delivery *delivery_new_on(const struct delivery_options *options, struct outside **outsides,
                                 size_t count);
/* The loop a URL's lane belongs to; OWNER_NONE without a URL. */
int delivery_loop_of(const struct delivery *delivery, const struct app *app, enum lane_kind kind);

/* dispatcher.c */
struct dispatcher *dispatcher_new(struct delivery *delivery, int index, struct outside *outside,
                                  int64_t seats, int64_t room);
void dispatcher_set_schedule(struct dispatcher *d, const struct schedule *schedule);
void dispatcher_free(struct dispatcher *d);
int32_t dispatcher_room(const struct dispatcher *d, const struct lane *lane);
void dispatcher_touch(struct dispatcher *d, struct lane *lane);
/* NULL: another loop's, told so; or another node's. */
struct lane *dispatcher_lane(struct dispatcher *d, lane_no no);
struct lane *dispatcher_find(const struct dispatcher *d, lane_no no); /* NULL: not in memory */
/* Reads the lane's settings off its app (NULL: gone) and joins the destination of its URL. */
void dispatcher_set_lane(struct dispatcher *d, struct lane *lane, const struct app *app);
void dispatcher_refresh(struct dispatcher *d, struct lane *lane);
void dispatcher_watch_leases(struct dispatcher *d); /* lanes of shards that are lost leave */

/* dispatcher_clock.c */
/* The wall clock. It follows the monotonic one while the wall clock is behind by no more than
 * ACCEPTANCE_HELD_MS (domain/acceptance.h): what is due stays due; and goes back with it when it is
 * behind by more. */
struct lane_now dispatcher_now(struct dispatcher *d);
/* At the end of a tick: what follows from the wall clock's having been set. */
void dispatcher_watch_clock(struct dispatcher *d);
/* What was recorded before the clock was put back is durable: of those recordings, one is. */
void dispatcher_recorded_old(struct dispatcher *d);
/* By how much a callback from the store is due later than its slot of the schedule allows; 0: it is
 * not. */
int64_t dispatcher_late_ms(const struct dispatcher *d, const struct lane *lane,
                           const struct schedule_place *place, const struct lane_now *now);
/* One item of a PAGE_LATE. */
void dispatcher_date(struct dispatcher *d, struct lane *lane, const struct callback *c);

/* dispatcher_destination.c */
struct destination *dispatcher_destination(struct dispatcher *d, const struct app *app,
                                           const struct url *url);
void dispatcher_let_destination_go(struct dispatcher *d, struct destination *to);
void dispatcher_join(struct dispatcher *d, struct lane *lane, struct destination *to);
void dispatcher_leave_destination(struct dispatcher *d, struct lane *lane);
void dispatcher_block(struct dispatcher *d, struct lane *lane, bool blocked);
void dispatcher_wake_blocked(struct dispatcher *d, struct destination *to); /* the next one */
void dispatcher_judge_destination(struct dispatcher *d, struct try *t);
void dispatcher_end_probe(struct try *t); /* the try of a dead destination, if it is that */
void dispatcher_settle_probe(struct dispatcher *d, struct lane *lane);

/* dispatcher_try.c */
bool dispatcher_has_seat(const struct dispatcher *d, bool sick);
/* False: the settings had changed, or the lane is no longer ours; decide again. */
bool dispatcher_start(struct dispatcher *d, struct lane *lane);
void dispatcher_skip(struct dispatcher *d, struct lane *lane);
void dispatcher_start_test(struct dispatcher *d, struct delivery_test *test);
void dispatcher_cancel_all(struct dispatcher *d);
void dispatcher_free_finished(struct dispatcher *d);
void dispatcher_free_spare(struct dispatcher *d);
void dispatcher_free_spare_recording(struct dispatcher *d);

/* dispatcher_health.c */
void dispatcher_count(struct dispatcher *d, const struct try *t, const struct lane_now *now);
void dispatcher_count_attempt(struct dispatcher *d, const struct try *t); /* without a lane */
/* Says it when the lane's state is another than at the last visit. */
void dispatcher_note_state(struct dispatcher *d, struct lane *lane, const struct lane_now *now);
/* The first success of a lane that is open, since it came into memory or was not open. */
void dispatcher_note_success(struct dispatcher *d, struct lane *lane);
void dispatcher_oversee(struct dispatcher *d, struct delivery_overview *to); /* adds */
void dispatcher_fill_health(struct dispatcher *d, struct lane_health_query *query);
void dispatcher_fill_briefs(struct dispatcher *d, struct delivery_briefs *briefs); /* its own */
void dispatcher_free_healths(struct dispatcher *d, bool all);
struct health *dispatcher_find_health(const struct dispatcher *d, lane_no no); /* or NULL */

/* dispatcher_account.c: what concerns one account in all lanes */
void dispatcher_erase(struct dispatcher *d, uint32_t account_no, struct str panelist_id);
/* Another node has erased somebody of the account: what waits here is read anew. */
void dispatcher_reread(struct dispatcher *d, uint32_t account_no);
void dispatcher_add_tried(struct dispatcher *d, struct delivery_tried *tried);

/* dispatcher_store.c */
bool dispatcher_store_failed(struct dispatcher *d, enum store_status status);
/* Whether as many outcomes wait to be recorded as may: the store is slow, or cannot be written. */
static inline bool dispatcher_outcomes_full(const struct dispatcher *d)
{
    return d->recording.bytes >= d->recording.most_bytes;
}
void dispatcher_page(struct dispatcher *d, struct lane *lane, const struct lane_decision *what);
/* Adds one outcome; its attempt's texts are copied. */
void dispatcher_record(struct dispatcher *d, const struct outcome *outcome);
void dispatcher_submit(struct dispatcher *d);

/* dispatcher_inbox.c */
void dispatcher_open_inbox(struct dispatcher *d);
void dispatcher_close_inbox(struct dispatcher *d);
/* Any thread. Takes them; after the inbox was closed they are freed. */
void dispatcher_hand(struct dispatcher *d, struct callback **callbacks, size_t count);
void dispatcher_tell(struct dispatcher *d, struct note note);
