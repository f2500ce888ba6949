/* Delivery: lanes and destinations of one loop. It is handed owed callbacks, decides whose turn
 * it is, has them sent, and records what came of it. docs/state.md has every state and move.
 *
 * What it holds in memory is bounded (base/limits.h); whatever does not fit stays in the store
 * and is paged in by due time. */
#pragma once

#include "accounts/accounts.h"
#include "delivery/lane_state.h"
#include "domain/schedule.h"
#include "send/send.h"
#include "store/store.h"

struct delivery; /* all loops' together */

/* A lane's state has changed, or an open one has had its first success since it came into memory.
 * Texts are borrowed until the call returns. */
struct lane_notice {
    const struct app *app;
    enum lane_kind kind;
    enum lane_state state;
    int64_t since_ms; /* wall; 0: not known */
    /* Its last failure; error_ms 0: none, or it is open. */
    enum attempt_class class;
    int status;
    int64_t error_ms;
    const char *detail;
};

struct delivery_options {
    struct loop **loops;
    struct sender **senders; /* one per loop */
    size_t loop_count;
    struct store *store;
    struct directory *directory;
    struct schedule schedule; /* at first: delivery_set_schedule */
    int64_t allowance_total;  /* exchanges under way per loop */
    /* Asks for a lane to be marked disabled: `url` (the caller's) answered 410. Whatever comes of
     * it, delivery_gone_settled follows. Called on a loop. */
    void (*disable_lane)(void *context, uint32_t app_no, enum lane_kind kind, struct str url);
    /* Whoever wants to know; must not block. On a loop. NULL: nobody. */
    void (*on_lane_state)(void *context, const struct lane_notice *notice);
    /* The receiver's certificate expires soon, once a day; or does not (any more): said once. */
    void (*certificate_told)(void *context, const struct app *app, enum lane_kind kind,
                             int64_t expires_ms, bool soon);
    /* Outcomes that are durable now; must not block. On a loop. NULL: nobody. */
    void (*outcomes_told)(void *context, const struct outcome *items, size_t count);
    void *context;
};

struct delivery *delivery_new(const struct delivery_options *options);
struct owed_sink *delivery_sink(struct delivery *delivery);
/* Takes up the lanes that have waiting callbacks, if they are ours. Any thread. */
void delivery_recover(struct delivery *delivery, const struct lane_backlog *lanes, size_t count);
/* The retry schedule from now on, as after a start with it; on the thread of that loop. */
void delivery_set_schedule(struct delivery *delivery, size_t loop, const struct schedule *schedule);
/* An app's settings changed: its lanes look at them again. Any thread. */
void delivery_app_changed(struct delivery *delivery, uint32_t app_no);
/* The directory knows of the lane's 410 now, or knows better (its URL was set meanwhile): from
 * here on its word counts. Any thread. */
void delivery_gone_settled(struct delivery *delivery, uint32_t app_no, enum lane_kind kind);
/* The store's leases have changed: lanes that are no longer ours end what is under way and leave.
 * Any thread. */
void delivery_leases_changed(struct delivery *delivery);
/* Another node has erased a panelist of the account: what waits in memory is read anew, without
 * him. Any thread. */
void delivery_erased_elsewhere(struct delivery *delivery, uint32_t account_no);
/* Starts no further exchanges; `stopped` is run on `reply_to` once those under way have ended and
 * their outcomes are durable. Any thread. */
void delivery_stop(struct delivery *delivery, struct executor *reply_to, struct task *stopped);
void delivery_free(struct delivery *delivery);

/* One try outside of any lane, for the test console: answers inline, nothing is recorded. It takes
 * a seat of the loop's and of its host's like any other try, of the few that tests may have. */
struct delivery_test {
    struct task done;
    struct executor *reply_to;
    struct arena arena;
    uint32_t app_no;
    struct event event;     /* event_id begins with test_; body is rendered by the asker */
    struct str url;         /* absent: the lane's configured one */
    struct str traceparent; /* see struct request_source */
    enum request_format format;
    bool busy;              /* result: no such seat is free; there was no attempt */
    struct attempt attempt; /* result; texts in the arena */
};
void delivery_send_test(struct delivery *delivery, struct delivery_test *test);

struct lane_health {
    bool known; /* false: nothing in memory: idle */
    bool suspended, disabled, paused;
    enum lane_state state;
    int64_t state_since_ms; /* wall; 0: not known */
    int32_t in_flight, waiting_in_ram;
    double window;
    int64_t next_try_ms; /* wall; suspended or paused: when */
    int64_t succeeded_1m, succeeded_1h, failed_1h, succeeded_24h, failed_24h;
    int32_t latency_p50_ms, latency_p95_ms, latency_p99_ms; /* of the last hour */
    enum attempt_class last_class;
    int last_status;
    int64_t last_error_ms;
    char last_detail[256];
    int64_t certificate_expires_ms; /* the receiver's, as last seen; 0: none */
};
/* Asks the lane's loop; `ret` is filled before `done` is posted to `reply_to`. */
struct lane_health_query {
    struct task done;
    struct executor *reply_to;
    lane_no lane;
    struct lane_health health;
};
void delivery_get_health(struct delivery *delivery, struct lane_health_query *query);

/* All lanes together, for metrics: each loop adds its own. */
#define OVERVIEW_TRIES_LEAST 20 /* in the last hour, for a success rate to say something */
#define OVERVIEW_WORST 20       /* lanes that are named */
struct overview_lane {
    lane_no lane;
    int64_t badness; /* see dispatcher_health.c */
};
struct delivery_overview {
    int64_t lanes[LANE_STATES];   /* in memory */
    int64_t window;               /* sum of their windows */
    int64_t tried_1h, failing_1h; /* tried at all; less than half of the tries succeeded */
    int64_t succeeded_1m;
    int64_t worst_success_permille; /* 1000: none worse */
    int32_t worst_p99_ms;
    int64_t certificate_expires_ms; /* the first of the receivers' to expire; 0: none */
    /* What somebody should look at, the worst first. */
    struct overview_lane worst[OVERVIEW_WORST];
    size_t worst_count;
};
struct delivery_overview_query {
    struct task done;
    struct executor *reply_to;
    struct delivery_overview overview;
};
void delivery_get_overview(struct delivery *delivery, struct delivery_overview_query *query);

/* Attempts by how long they took; the last bucket is what took longer. */
#define DELIVERY_DURATIONS 13
extern const int32_t delivery_duration_bounds_ms[DELIVERY_DURATIONS - 1];

/* A question to all loops, one after the other. */
struct delivery_round {
    struct task task;
    struct delivery *delivery;
    size_t at; /* the loop */
};

/* The store has erased a panelist (store_erase is done): when `done` is posted, nothing of what was
 * accepted before is sent any more or waits in memory but tries that are under way, and the store
 * keeps no texts of those. */
struct delivery_erase {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    struct str panelist_id;
    struct delivery_round round; /* delivery's own */
};
void delivery_erase(struct delivery *delivery, struct delivery_erase *erase);

/* What is being tried of one account, without the extra tries of what is delivered already: at most
 * as many as exchanges are under way in all. Empty when asked. */
struct delivery_tried {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    uint64_t *event_nos; /* result: sorted; malloc'ed, the asker's */
    size_t count, capacity;
    struct delivery_round round; /* delivery's own */
};
void delivery_get_tried(struct delivery *delivery, struct delivery_tried *tried);

/* The states of many lanes, for a page that shows whole accounts. A lane that is not in memory
 * keeps what the asker has set: zero is an open lane without tries. */
struct lane_brief {
    lane_no lane;
    enum lane_state state;
    bool suspended, disabled, paused;
    int64_t succeeded_1h, failed_1h;
};
struct delivery_briefs {
    struct task done;
    struct executor *reply_to;
    struct lane_brief *items; /* count of them, the asker's */
    size_t count;
    struct delivery_round round; /* delivery's own */
};
void delivery_get_briefs(struct delivery *delivery, struct delivery_briefs *briefs);

struct delivery_numbers {
    int64_t durations[DELIVERY_DURATIONS], duration_ms_total;
    int64_t in_flight, callbacks_in_ram, lanes, lanes_suspended;
    int64_t attempts[ATTEMPT_CLASSES];
};
void delivery_get_numbers(struct delivery *delivery, struct delivery_numbers *ret); /* any thread */
