/* A world in which delivery runs: virtual time, receivers that behave as told, stores that answer
 * late, settings that change, crashes. One seed is one run; one thread; nothing here asks the
 * machine for time or chance. docs/simulation.md says what is simulated and what is checked. */
#pragma once

#include "base/buf.h"
#include "delivery/dispatcher.h"
#include "memory_store/memory_store.h"

#include "timeline.h"

#define SIM_LOOPS_MAX 3
#define SIM_START_WALL_MS INT64_C(1763726400000)
#define SIM_START_MONO_MS INT64_C(1000000)
#define SIM_PANELISTS 5
#define SIM_TRACE_LINES 60
#define SIM_TRACE_BYTES 160

/* --- receivers (receivers.c) ----------------------------------------------------------------- */

enum behaviour {
    HOST_UP,
    HOST_DOWN, /* connections are refused */
    HOST_FLAPPING,
    HOST_SLOW,
    HOST_NOT_FOUND,
    HOST_GONE,  /* 410 now and then */
    HOST_BUSY,  /* 429 and 503, mostly with Retry-After */
    HOST_ERROR, /* 500 */
    HOST_NO_CONNECTION,
    HOST_NO_NAME,
    HOST_HANGING,
    HOST_RESETTING,
    HOST_BAD_TLS,
    HOST_REDIRECTING,
    HOST_DRIPPING,   /* a byte now and then, mostly until the deadline */
    HOST_LYING,      /* about lengths: its answers end too early, too late or in nonsense */
    HOST_CLOSING,    /* connections that are kept alive, at times under an exchange */
    HOST_MOVING,     /* its name leads elsewhere, nowhere, or to where nobody may be sent */
    HOST_GOING_AWAY, /* HTTP/2: now and then all that is under way is refused at one stroke */
    HOST_MIXED,      /* any of these, each time anew */
};
#define BEHAVIOURS 20

struct host {
    enum behaviour behaviour;
    int64_t period_ms;    /* flapping: how long it is up, and then down */
    int64_t goes_away_ms; /* going away: when what is under way is refused; past: not set */
    /* What the checkers know of it. */
    int32_t probes; /* of a dead destination, under way */
    int64_t dead_wait_ms, dead_next_ms, reached_ms;
};

struct sim;
void receivers_attach(struct sim *sim); /* the runtimes of all loops */
const char *behaviour_name(enum behaviour b);

/* --- what the checkers know (checks.c) ----------------------------------------------------------
 */

/* One accepted event that owes a callback, seen from outside. */
struct witness {
    lane_no lane;
    uint64_t original_no, reversal_no;      /* what it reverses; what reverses it */
    int64_t accepted_ms, accepted_mono_ms;  /* the first by the wall clock */
    int64_t due_ms;                         /* wall: no try before that, unless asked for by hand */
    int64_t not_before_ms;                  /* wall: its last try's Retry-After */
    int64_t last_start_ms;                  /* monotonic */
    int32_t starts, run_starts, run_allows; /* run: since its schedule began */
    bool steady;                            /* its lane's receiver is up and stays so */
    bool under_way, seen;
    bool final; /* decided; perhaps not yet durable */
    bool asked; /* a resend has not been answered by a try yet */
    bool owed;  /* nor by a 2xx of the one under way when it came */
    bool asked_meanwhile, run_resent;
    bool was_final, was_delivered, was_dead;   /* durable, once */
    int64_t asked_until_ms;                    /* monotonic: by Retry-After, in whichever life */
    int64_t run_began_mono_ms, run_forward_ms; /* the clock's jumps forward until then */
    int64_t late_since_ms;                     /* monotonic: seen to be due too late; 0: is not */
    bool late_excused;                         /* it crashed before it could be dated anew */
    bool is_erased, erased;                    /* in the store; and said to be gone from memory */
    uint64_t resend_no;                        /* the latest that no outcome has answered */
    uint8_t panelist;                          /* from 1; 0: was erased before it was known */
    enum callback_state state;                 /* the latest that is durable */
};

struct lane_witness {
    int32_t under_way;
    double size_most;         /* no window can be wider, by the successes so far */
    bool try_is_probe;        /* the last one began while the lane was suspended */
    int64_t wait_ms, next_ms; /* suspended: spacing of the tries */
    int64_t probe_ms;  /* the lane's own time, as that try began: a resend that ends before that
                          changes no spacing */
    int64_t judged_ms; /* when that was last moved */
    int64_t moved_ms;  /* its URL */
    int64_t resent_ms; /* when a resend was last tried while it was shut */
    int64_t fault_ms;  /* monotonic: when a fault of this machine last prevented a try */
    int64_t held_ms;   /* no try before that, for the same, unless others are under way */
    int held_loop;
    int64_t paused_ms, pause_asked_ms; /* Retry-After */
    int64_t asked_until_ms;            /* by it, in whichever life */
    int paused_loop;
    uint64_t gone_nos[5]; /* different callbacks answered 410 in a row */
    int32_t gone_count;
    int gone_host;                       /* whose answers they were */
    bool gone;                           /* to be disabled: on its way to the directory */
    int64_t answered_ms;                 /* monotonic: the last answer that was no failure of it */
    int64_t reopened_ms, reopened_at_ms; /* by such an answer; wall, monotonic */
    int64_t reopened_by_ms;              /* monotonic: when the try with that answer began */
    int64_t drained_due_ms;              /* after an outage: how far what waited has been tried */
    uint64_t moved_round;                /* the round of the loops in which its URL was changed */
    int moved_from_host;                 /* before that round: its URL's host; -1: it had none */
    int64_t moved_before_ms;             /* before that round: moved_ms */
};

enum checker {
    CHECK_LOST,
    CHECK_TRIES,
    CHECK_DEAD,
    CHECK_SKIPPED,
    CHECK_WINDOW,
    CHECK_SUSPENDED,
    CHECK_DEAD_HOST,
    CHECK_WAIT,
    CHECK_FINAL,
    CHECK_AT_ONCE,
    CHECK_REVERSAL,
    CHECK_RETRY_AFTER,
    CHECK_EARLY,
    CHECK_COUNTERS,
    CHECK_HOT,
    CHECK_BOOKS,
    CHECK_RESEND,
    CHECK_MEMORY,
    CHECK_ERASED,
    CHECK_STATEMENT,
    CHECK_TORN,
    CHECK_ORDER,
    CHECK_SLOWED,
    CHECK_CLOCK,
    CHECK_GIVEN_UP,
    CHECK_GONE,
    CHECK_LOCAL_FAULT,
};
#define CHECKERS 27
const char *checker_name(enum checker c);

/* --- the store (late_store.c) ---------------------------------------------------------------- */

/* One account has a memory store of its own: there is no order between accounts, and the oracle
 * looks at everything it has for each question. */
struct shard {
    struct store *store;
    struct witness *witnesses; /* by event number - 1 */
    size_t count, capacity;
};

struct late_store {
    struct store store;
    struct sim *sim;
    struct list jobs; /* asked for, not yet answered, in the order asked for */
    int64_t most_ms;  /* the longest until it is done, and from then until it says so */
    int64_t last_commit_ms, last_done_ms;
    uint64_t order; /* of changes that come at the same moment */
    bool busy;      /* pages are refused */
};

void late_store_open(struct sim *sim);
void late_store_close(struct sim *sim);
/* What was not durable is gone; everybody who waits is told something so that they end. */
void late_store_crash(struct sim *sim);
/* The write that a power cut falls into: the first change that is not durable yet reaches the disk
 * up to some byte. Read back, it is there whole or not at all. */
void late_store_tear(struct sim *sim);
const struct entry *late_store_entry(struct sim *sim, uint32_t account_no, uint64_t event_no);

/* --- apps (apps.c) ------------------------------------------------------------------------------
 */

struct app_choice { /* what the scenario has set, from which struct app is made */
    bool enabled;
    int host[LANE_KINDS]; /* -1: no URL */
    bool disabled[LANE_KINDS];
    int64_t lane_enabled_ms[LANE_KINDS]; /* wall */
    bool steady;
    int32_t max_concurrency, rate_per_second, timeout_ms;
    int64_t enabled_since_ms, changed_ms;
};

void apps_open(struct sim *sim);
void apps_close(struct sim *sim);
/* Makes the choice of that app what the directory says, and tells delivery. */
void apps_publish(struct sim *sim, uint32_t app_no);
/* What 410s have disabled is enabled, now. */
void apps_enable_lane(struct sim *sim, uint32_t app_no, enum lane_kind kind);
void apps_disable_lane(void *context, uint32_t app_no, enum lane_kind kind, struct str url);
int url_host(const struct url *url);

/* --- the world
 * ------------------------------------------------------------------------------------ */

struct sim_loop {
    struct sim *sim;
    struct dispatcher_runtime runtime;
    struct executor executor;
    struct task *first, *last;
    struct rng rng;
    int64_t wake_ms;
    bool active;
};

struct sim_exchange {
    struct moment moment;
    struct link link;
    struct exchange *x;
    struct sim_loop *loop;
};

/* The wall clock, which is not always right (clock.c). */
struct sim_clock {
    bool moves;
    int64_t ahead_ms; /* of the right time, without the drift */
    int64_t drift_ppm, drifts_from_ms;
    int64_t set_ms;     /* monotonic: when it was last touched */
    int64_t forward_ms; /* all of its jumps forward */
};

/* A world that is drawn by lot, or one of partners that are all down for a while (outage.c). */
struct plan {
    uint32_t outage_partners; /* 0: drawn by lot */
    uint32_t apps_most;       /* 0: by the seed */
    int64_t down_ms;
    int64_t event_every_ms; /* of each partner that goes down; healthy ones have a third as many */
};

/* How long it takes from an event to its healthy receiver's answer, in each part of an outage. */
enum outage_part { OUTAGE_BEFORE, OUTAGE_DOWN, OUTAGE_BACK };
#define OUTAGE_PARTS 3
#define LATENCY_MOST_MS 4000 /* and above */
struct latencies {
    int64_t of_ms[LATENCY_MOST_MS + 1], count;
};

struct sim {
    uint64_t seed;
    struct plan plan;
    struct rng rng; /* the world's chances; delivery has its own */
    int64_t mono_ms;
    uint64_t rounds; /* the loops have run so often: between two of them, they hear of nothing */
    struct sim_clock clock;
    struct timeline timeline;
    struct env env;
    struct sim_loop loops[SIM_LOOPS_MAX];
    size_t loop_count;
    struct list exchanges;
    struct late_store late;
    struct shard *shards; /* by account number - 1 */
    size_t shard_count;
    struct host *hosts;
    size_t host_count;
    uint32_t app_count;
    struct app_choice *choices; /* by app_no - 1 */
    struct app **apps;
    uint32_t apps_of_account;
    struct list changes;        /* of settings, on their way to being durable */
    struct lane_witness *lanes; /* by lane_no */
    struct schedule schedule;
    struct delivery *delivery;
    bool dropping; /* a crash is under way: nothing is looked at */
    bool stopped;
    struct task stopped_task;
    int64_t crash_in; /* commit points; 0: no crash is set */
    bool crash_due;
    int64_t life_began_ms, life_forward_ms; /* the clock's jumps forward until then */
    int64_t wait_bound_ms;
    bool has_local_faults;
    int64_t fault_until_ms;        /* monotonic: until then this machine has a fault */
    int64_t fault_one_in;          /* and one in so many tries is prevented */
    int64_t ends[ATTEMPT_CLASSES]; /* in this life */

    int64_t attempts, crashes, events, resends, erasures, torn;
    int64_t retired_events, retired_delivered, retired_dead;
    int64_t returned_ms; /* wall: the outage is over; 0: it is not */
    enum outage_part part;
    struct latencies latencies[OUTAGE_PARTS];
    int64_t overdue, drained_ms; /* when they came back; and how long until none of it waited */
    int32_t most_at_once;
    uint64_t watched[2]; /* account and event number of the one whose every move is traced */
    bool failed;
    enum checker failed_by;
    char finding[256];
    char trace[SIM_TRACE_LINES][SIM_TRACE_BYTES];
    uint64_t traced;
};

/* A line about one callback, if it is the one watched. */
void sim_watch(struct sim *sim, uint32_t account_no, uint64_t event_no, const char *format, ...)
    PRINTF_LIKE(4, 5);
struct sim *sim_open(uint64_t seed, const struct plan *plan);
void sim_close(struct sim *sim);
void sim_run(struct sim *sim, int64_t for_ms);
void sim_crash(struct sim *sim); /* and recovers */
/* Counts a commit point: true when the crash that was set is to fall on it. */
bool sim_crash_point(struct sim *sim);
void sim_stop(struct sim *sim); /* as SIGTERM does */
void sim_found(struct sim *sim, enum checker by, const char *format, ...) PRINTF_LIKE(3, 4);
void sim_trace(struct sim *sim, const char *format, ...) PRINTF_LIKE(2, 3);
void sim_print_trace(const struct sim *sim);

static inline int64_t sim_ahead(const struct sim *sim)
{
    const struct sim_clock *c = &sim->clock;
    return c->ahead_ms + (sim->mono_ms - c->drifts_from_ms) * c->drift_ppm / 1000000;
}
static inline int64_t sim_wall(const struct sim *sim)
{
    return SIM_START_WALL_MS + sim->mono_ms - SIM_START_MONO_MS + sim_ahead(sim);
}
static inline int64_t sim_below(struct sim *sim, int64_t bound)
{
    return (int64_t)rng_below(&sim->rng, (uint64_t)bound);
}
static inline bool sim_chance(struct sim *sim, int64_t one_in)
{
    return sim_below(sim, one_in) == 0;
}
extern struct sim *sim_now; /* the directory and the plants have no other way to find it */
static inline uint32_t sim_account_of(uint32_t app_no)
{
    return 1 + (app_no - 1) / sim_now->apps_of_account;
}
static inline struct witness *sim_witness(struct sim *sim, uint32_t account_no, uint64_t event_no)
{
    struct shard *shard = &sim->shards[account_no - 1];
    ASSERT(event_no >= 1 && event_no <= shard->count);
    return &shard->witnesses[event_no - 1];
}

/* It jumps, steps or drifts, or is right again. */
void clock_touch(struct sim *sim);
void clock_forward(struct sim *sim, int64_t by_ms);
void clock_mend(struct sim *sim);
#define CLOCK_GRACE_MS (3 * MINUTE) /* it is looked at each minute, and then pages are read */
/* No retry waits longer than the schedule allows (clock.c). */
void checks_clock(struct sim *sim);
void checks_clock_crashed(struct sim *sim);

/* A panelist is erased, in the store and then in delivery (erasures.c). */
void erasures_begin(struct sim *sim, uint32_t account_no, uint8_t panelist);

/* How big it is, and with what schedule (scenario.c). */
void scenario_choose(struct sim *sim);
/* One run, start to end; what was found is in the sim. */
void scenario_run(struct sim *sim);
/* Another season of the same world: what is final leaves the store, as by retention; receivers
 * behave as drawn by lot anew. */
void scenario_renew(struct sim *sim);
void scenario_event(struct sim *sim, uint32_t app_no, bool survey);
int64_t scenario_drain(struct sim *sim); /* how long until nothing waits any more */
struct plan outage_plan(uint64_t seed);  /* a small one */
struct plan outage_plan_of(uint32_t partners, int64_t hours);
int64_t outage_p99_ms(const struct sim *sim, enum outage_part part);
void outage_choose(struct sim *sim);
void outage_run(struct sim *sim);

/* --- what is looked at, and when (checks.c)
 * -------------------------------------------------------- */

void checks_accepted(struct sim *sim, const struct entry *e);
void checks_starting(struct sim *sim, const struct delivery_attempt *t, int loop);
/* Around the end of an exchange: before delivery is told, and after. */
struct ending {
    uint32_t account_no;
    uint64_t event_no;
    lane_no lane;
    int host;
    bool was_suspended, was_dead, is_probe, is_good, counts, speaks_of_host, answered;
    int64_t pause_ms; /* -1: none asked for */
    struct destination *destination;
    struct lane *at;
    int loop;
    bool is_local;        /* it was not made, by a fault of this machine */
    struct window window; /* before it ended */
    int32_t failed_run;   /* of the destination; likewise */
};
/* checks_local_fault.c: of tries that a fault of this machine prevents */
void checks_held(struct sim *sim, const struct delivery_attempt *t, int loop);
void checks_fault_ended(struct sim *sim, const struct ending *e);
void outage_measure(struct sim *sim, const struct ending *e); /* outage.c: how long it took */
struct ending checks_ending(struct sim *sim, const struct delivery_attempt *t, int loop);
void checks_ended(struct sim *sim, const struct ending *e);
void checks_recorded(struct sim *sim, const struct outcome *o); /* delivery says so */
void checks_durable(struct sim *sim, const struct outcome *o);  /* the store has it */
/* Its original is final, and the store dates it anew. */
void checks_released(struct sim *sim, uint32_t account_no, uint64_t event_no, int64_t due_ms);
void checks_resent(struct sim *sim, uint32_t account_no, uint64_t event_no, bool was_final,
                   bool was_delivered);
void checks_crashed(struct sim *sim); /* what delivery forgot, the checkers forget */
void checks_counters(struct sim *sim);
void checks_at_end(struct sim *sim);
#define FAULT_GRACE_MS (10 * SECOND)
/* checks_gone.c */
void checks_follow_gone(const struct sim *sim, const struct delivery_attempt *t,
                        struct lane_witness *l);
void checks_disabling(struct sim *sim, lane_no lane); /* delivery asks for it */
/* checks_sums.c */
void checks_memory(struct sim *sim);
void checks_books(struct sim *sim);
void checks_statements(struct sim *sim);

/* --- planted bugs (plants.c)
 * ------------------------------------------------------------------------ */

struct plant {
    const char *name;
    enum checker caught_by;
};
extern const struct plant plants[];
extern const size_t plant_count;
extern int plant_now; /* an index into plants; -1: none */
/* After an event was accepted: what a bad store would do then. */
void plant_accepted(struct sim *sim, const struct entry *e);
void plant_paged(struct due_page *page); /* before it is answered */
