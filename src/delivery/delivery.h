/* Delivery: takes pending callbacks from the store, decides which lane may start its next attempt,
 * has the attempt sent, and records the outcome. docs/state.md has every state and transition.
 *
 * Memory is bounded (base/limits.h): callbacks that do not fit stay in the store and are paged in
 * by due time.
 *
 * Threads: each loop owns its lanes. A function may be called on any thread unless it says
 * otherwise. Times are wall clock, Unix milliseconds, unless they end in `_mono_ms`. */
#pragma once

#include "accounts/accounts.h"
#include "delivery/lane_state.h"
#include "domain/latency.h"
#include "domain/schedule.h"
#include "send/send.h"
#include "store/store.h"

struct delivery; /* of all loops */
struct dispatcher;

/* A lane's state has changed, or a lane that is open has had its first success since it came into
 * memory. The texts are valid until the call returns. */
struct lane_notice {
    const struct app *app;
    enum lane_kind kind;
    enum lane_state state;
    int64_t since_ms; /* wall clock; 0: unknown */
    /* The lane's last failure; error_ms 0: there was none, or the lane is open. */
    enum attempt_class class;
    int status;
    enum request_format format; /* of its request: the app may have another one by now */
    int64_t error_ms;
    const char *detail;
};

struct delivery_options {
    struct loop **loops;
    struct sender **senders; /* one per loop */
    size_t loop_count;
    struct store *store;
    struct directory *directory;
    struct schedule schedule; /* the initial one: see delivery_set_schedule */
    int64_t allowance_total;  /* bound on the exchanges under way, per loop */
    /* Asks the caller to mark a lane disabled, because `url` (delivery's) has answered 410. The
     * caller answers with delivery_gone_settled, whether it marked the lane or not. Called on a
     * loop. */
    void (*disable_lane)(void *context, uint32_t app_no, enum lane_kind kind, struct str url);
    /* Called on a loop when a lane's state changes; must not block. May be NULL. */
    void (*on_lane_state)(void *context, const struct lane_notice *notice);
    /* Called once a day while the receiver's certificate expires soon, and once when it no longer
     * does. */
    void (*on_certificate)(void *context, const struct app *app, enum lane_kind kind,
                           int64_t expires_ms, bool soon);
    /* Called on a loop with outcomes that have become durable; must not block. May be NULL. */
    void (*on_outcomes_durable)(void *context, const struct outcome *items, size_t count);
    void *context;
};

struct delivery *delivery_new(const struct delivery_options *options);
struct owed_sink *delivery_sink(struct delivery *delivery);
/* Loads the lanes that have waiting callbacks, except those of other nodes. */
void delivery_recover(struct delivery *delivery, const struct lane_backlog *lanes, size_t count);
/* Replaces the retry schedule, with the same effect as a restart. On the thread of that loop. */
void delivery_set_schedule(struct delivery *delivery, size_t loop, const struct schedule *schedule);
/* Tells the app's lanes to read its settings again. */
void delivery_app_changed(struct delivery *delivery, uint32_t app_no);
/* The caller has handled disable_lane: the directory has the lane disabled, or keeps it enabled
 * because its URL was changed meanwhile. From now on the lane follows the directory. */
void delivery_gone_settled(struct delivery *delivery, uint32_t app_no, enum lane_kind kind);
/* Tells all loops that the leases have changed: lanes of shards that this node no longer holds end
 * their exchanges and leave. */
void delivery_leases_changed(struct delivery *delivery);
/* Another node has erased a panelist of the account: the account's callbacks in memory are dropped
 * and paged again, without those of the panelist. What was read before mono_ms is looked up again,
 * too, when it arrives. */
void delivery_erased_elsewhere(struct delivery *delivery, uint32_t account_no, int64_t mono_ms);
/* True if the loop has more callbacks to start than one tick allows, and thousands of new ones wait
 * in memory: whoever takes in events on that loop should let delivery catch up. On the thread of
 * that loop. */
bool delivery_is_behind(const struct delivery *delivery, size_t loop);
/* Stops starting exchanges. `stopped` is posted to `reply_to` when those under way have ended and
 * their outcomes are durable. */
void delivery_stop(struct delivery *delivery, struct executor *reply_to, struct task *stopped);
void delivery_free(struct delivery *delivery);

/* One attempt without a lane, for the test console. The asker gets the result; nothing is recorded.
 * Like any other attempt it takes a seat of the loop and of the host, from the small share that is
 * reserved for tests. */
struct delivery_test {
    struct task done;
    struct executor *reply_to;
    struct arena arena;
    uint32_t app_no;
    struct event event; /* event_id begins with test_; the caller has rendered the body */
    struct str url;     /* absent: the configured URL */
    enum request_format format;
    bool busy;              /* result: no test seat was free, so that there was no attempt */
    enum local_fault fault; /* result: this fault of our own prevented the attempt */
    struct attempt attempt; /* result; texts in the arena */
};
void delivery_send_test(struct delivery *delivery, struct delivery_test *test);

struct lane_health {
    bool known; /* false: the lane is not in memory, because it is idle */
    bool suspended, disabled, paused;
    enum lane_state state;
    int64_t state_since_ms; /* wall clock; 0: unknown */
    int32_t in_flight, waiting_in_ram;
    double window;
    int64_t next_try_ms; /* wall clock: the next attempt of a suspended or paused lane */
    int64_t succeeded_1m, succeeded_1h, failed_1h, succeeded_24h, failed_24h;
    int32_t latency_p50_ms, latency_p95_ms, latency_p99_ms; /* over the last hour */
    enum attempt_class last_class;
    int last_status;
    enum request_format last_format; /* of that request: the app may have another one by now */
    int64_t last_error_ms;
    char last_detail[256];
    /* when the receiver's certificate expires, as last seen; 0: no certificate */
    int64_t certificate_expires_ms;
};
/* Asks the loop that owns the lane for its health. `ret` is filled before `done` is posted. */
struct lane_health_query {
    struct task done;
    struct executor *reply_to;
    lane_no lane;
    struct lane_health health;
};
void delivery_get_health(struct delivery *delivery, struct lane_health_query *query);

/* A question that visits all loops, one after the other. */
struct delivery_round {
    struct task task;
    struct delivery *delivery;
    size_t at; /* the next loop */
    void (*visit)(struct delivery_round *round, struct dispatcher *d);
    struct executor *reply_to;
    struct task *done;
};

/* Totals over all lanes, for metrics. Each loop adds its own. */
#define OVERVIEW_TRIES_LEAST 20 /* attempts in the last hour that a success rate needs */
#define OVERVIEW_WORST 20       /* lanes listed by name */
struct overview_lane {
    lane_no lane;
    int64_t badness; /* see dispatcher_overview.c */
};
struct delivery_overview {
    int64_t lanes[LANE_STATES]; /* in memory */
    int64_t window;             /* sum of their windows */
    /* lanes with attempts in the last hour; of them, lanes where less than half succeeded */
    int64_t tried_1h, failing_1h;
    int64_t succeeded_1m;
    int64_t worst_success_permille; /* 1000 if no lane is below */
    int32_t worst_p99_ms;
    /* when the first of the receivers' certificates expires; 0: none */
    int64_t certificate_expires_ms;
    /* The lanes that need attention, the worst first. */
    struct overview_lane worst[OVERVIEW_WORST];
    size_t worst_count;
};
struct delivery_overview_query {
    struct task done;
    struct executor *reply_to;
    struct delivery_overview overview;
    struct delivery_round round; /* internal */
};
void delivery_get_overview(struct delivery *delivery, struct delivery_overview_query *query);

/* Removes an erased panelist from memory, after store_erase is done. When `done` is posted, no
 * callback of the panelist accepted before is sent any more or waits in memory, except those with
 * an attempt under way, and the store keeps no texts of those attempts. */
struct delivery_erase {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    struct str panelist_id;
    int64_t mono_ms;             /* a time after the store has erased */
    struct delivery_round round; /* internal */
};
void delivery_erase(struct delivery *delivery, struct delivery_erase *erase);

/* Lists the callbacks of one account that have an attempt under way, without the extra attempts of
 * callbacks that are delivered already. Initialise the result empty. */
struct delivery_tried {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    /* result: ascending; malloc'ed, the caller's; at most as many as exchanges are under way */
    uint64_t *event_nos;
    size_t count, capacity;
    struct delivery_round round; /* internal */
};
void delivery_get_tried(struct delivery *delivery, struct delivery_tried *tried);

/* Reads the states of many lanes, for a page that shows whole accounts. A lane that is not in
 * memory keeps the values that the caller has set; all zeros is an open lane without attempts. */
struct lane_brief {
    lane_no lane;
    enum lane_state state;
    bool suspended, disabled, paused;
    int64_t succeeded_1h, failed_1h;
};
struct delivery_briefs {
    struct task done;
    struct executor *reply_to;
    struct lane_brief *items; /* count of them, the caller's */
    size_t count;
    struct delivery_round round; /* internal */
};
void delivery_get_briefs(struct delivery *delivery, struct delivery_briefs *briefs);

struct delivery_numbers {
    int64_t durations[LATENCY_BUCKETS], duration_ms_total; /* all attempts */
    int64_t in_flight, callbacks_in_ram, lanes, lanes_suspended;
    int64_t callbacks_read_back; /* from the store into a lane, since the start */
    int64_t attempts[ATTEMPT_CLASSES];
    /* attempts that were not made, by cause; and when that last happened: wall clock, 0: never */
    int64_t local_faults[LOCAL_FAULTS], local_fault_ms[LOCAL_FAULTS];
};
void delivery_get_numbers(struct delivery *delivery, struct delivery_numbers *ret); /* any thread */
