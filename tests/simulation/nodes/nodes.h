/* Many nodes that share one database, in virtual time: each makes the real decisions of
 * store/nodes/shards.h by a clock of its own, and asks its leases as delivery/ does; the database
 * is a model that keeps the rules at that header's head. One seed is one run; one thread; nothing
 * here asks the machine for time or chance. docs/simulation.md says what is modelled and what is
 * checked. */
#pragma once

#include "../timeline.h"

#include "base/check.h"
#include "base/env.h"
#include "store/leases.h"
#include "store/nodes/handoff.h"

#include <stdbool.h>

#define NODES_AT_ONCE 20
#define NODES_EVER 99 /* with all restarts of one run; and the greatest id */
#define LANES_MOST 24
#define CALLBACKS_MOST 500
#define PPM 1000000

struct node;

/* --- the database (database.c) ---------------------------------------------------------------- */

enum callback_now { WAITING, DONE };

struct callback {
    uint32_t lane;
    enum callback_now state;
    int32_t tries, resend_no;
    int64_t due_ms, stored_ms, done_ms; /* true time */
    int64_t changed_ms;                 /* by intake or a resend */
    /* Nobody was told of it: a node died, or does not know of its commit. What is late may find it.
     */
    bool untold;
};

struct node_row {
    bool there, leaving;
    int64_t lease_until; /* by the database's clock */
};

#define CARRIES_NONE SIZE_MAX
struct handover_row {
    uint64_t no;
    uint32_t lane;
    size_t callback; /* that it carries, or CARRIES_NONE */
};

struct database {
    int64_t rate_ppm, offset_ms;          /* of its clock */
    int64_t away_until_ms;                /* true time */
    struct node_row rows[NODES_EVER + 1]; /* by node id */
    struct shard_seen shards[SHARDS];     /* owners dead or alive */
    struct callback callbacks[CALLBACKS_MOST];
    size_t callback_count;
    struct handover_row *handover;
    size_t handover_count, handover_capacity;
    uint64_t handover_no;
    /* The truth that checkers judge by: how often each was claimed, and by whom last. */
    int64_t claims[SHARDS];
    uint64_t claimer[SHARDS];
};

/* Each is one transaction; it arrives late, or twice too late, or never, and so does its answer. */
enum request_kind {
    REQUEST_LOOK,
    REQUEST_ACT,
    REQUEST_LEAVE,
    REQUEST_POLL,
    REQUEST_POLLED, /* its commit: what was told is deleted */
    REQUEST_BACKLOG,
    REQUEST_PAGE,
    REQUEST_OUTCOME,
    REQUEST_INTAKE,
    REQUEST_RESEND,
    REQUEST_HANDOVER,
};

struct outcome {
    size_t callback;
    int64_t fence, claims; /* the truth when it was started: 0: it was not this node's */
    int32_t try_no, resend_no;
    bool good;
};

/* Of a look, and of what follows from it. */
struct look {
    struct shards_seen seen;
    uint64_t nodes[NODES_EVER];
    struct shards_todo todo;
    int64_t release_fence[SHARDS]; /* under which it is given up */
    int64_t claimed[SHARDS];       /* by the place in todo: fences; 0: it did not come through */
};

enum outcome_fate { OUTCOME_STORED, OUTCOME_REFUSED, OUTCOME_RESENT };

struct request {
    struct moment travel, patience;
    struct request *next, **from; /* of all */
    struct node *node;
    enum request_kind kind;
    bool arrived, answer_lost, given_up;
    int64_t sent_ms, sent_mono_ms;
    /* What is asked, and what is answered. */
    struct look *look; /* owned */
    bool shards[SHARDS], only_late;
    uint32_t lane;
    int64_t lane_fence, as_of_ms;
    size_t *found, found_count; /* lanes, callbacks, or what was handed over; owned */
    uint64_t *rows;             /* of found; owned */
    struct handover_row *heard; /* found_count of them; owned */
    int64_t heard_fence[SHARDS], heard_since_mono_ms;
    struct outcome outcome;
    enum outcome_fate fate;
    bool with_row; /* handover in the same transaction */
    int64_t fence; /* of the lane's shard at this node when it was sent; 0: it was not here */
    size_t callback;
};

void database_do(struct request *r);
int64_t database_now(void);
int64_t database_lease_left(uint64_t node);

/* --- the way there and back (network.c) ------------------------------------------------------- */

struct request *request_new(struct node *n, enum request_kind kind);
void request_send(struct request *r);
void requests_free(void);

/* --- a node (node.c), and what it delivers (lanes.c) -------------------------------------------
 */

/* What a cut does to requests: they or their answers are lost, or they come when it is over. */
enum cut { CUT_ASKING, CUT_ANSWERS, CUT_DELAYS, CUTS };
#define CUT_DELAYS_MS (10 * SECOND) /* and up to so much later */

struct lane_here {
    bool there, wants_page, page_asked, page_is_behind, read;
    struct handoff_watermark watermark;
    int64_t fence;
    int32_t under_way;
    uint16_t queue[CALLBACKS_MOST];
    size_t queued;
};

/* AGAIN: under way, and it was read or resent meanwhile: to be looked at when it has ended. */
enum known { KNOWN_NOT, KNOWN_QUEUED, KNOWN_UNDER_WAY, KNOWN_AGAIN };

struct node {
    uint64_t id;
    uint32_t host; /* who runs on the same one sees at once that it is dead */
    bool alive, leaving;
    int64_t rate_ppm, offset_ms; /* of its monotonic clock */
    int64_t patience_ms;         /* for an answer */
    int64_t stopped_until_ms, cut_until_ms;
    enum cut cut;
    struct member member;
    struct moment turn, keep, pump;
    int64_t turn_due_mono_ms, rescan_due_mono_ms, leave_by_mono_ms;
    int64_t heard_mono_ms; /* when the last look for what is handed over that succeeded was sent */
    struct leases leases;
    bool fresh[SHARDS];              /* claimed: what waits in it was not looked for yet */
    int64_t started_mono_ms[SHARDS]; /* the last one */
    int64_t looked_ms;               /* when the database carried out the latest look */
    int64_t claim_looked_ms[SHARDS]; /* of the look that a claim followed from */
    int64_t turns;
    struct lane_here lanes[LANES_MOST];
    uint8_t known[CALLBACKS_MOST];
    int64_t told_ms[CALLBACKS_MOST]; /* final, and when the node heard so */
};

struct node *node_join(uint64_t id, uint32_t host);
void node_kill(struct node *n);
void node_leave(struct node *n);                  /* gracefully */
void node_answered(struct request *r, bool good); /* look, act, leave, poll, backlog, handover */
int64_t node_mono(const struct node *n);
/* In that many of its own milliseconds. Moments of a node that is stopped come when it goes on. */
void node_after(struct node *n, struct moment *m, int64_t ms);
bool node_is_stopped(struct node *n, struct moment *m);

void lanes_pump(struct node *n);
void lanes_answered(struct request *r, bool good); /* page, outcome, intake, resend */
void lanes_waiting(struct node *n, uint32_t lane);
void lanes_carried(struct node *n, const struct handover_row *row, struct handoff_stamp word);
void lanes_intake(struct node *n);
void lanes_resend(struct node *n);
void lanes_forget(struct node *n); /* it died */

struct exchange {
    struct moment moment;
    struct exchange *next, **from; /* of all */
    struct node *node;
    struct outcome outcome;
};

/* --- what must hold (checks.c) -----------------------------------------------------------------
 */

enum checker {
    CHECK_FENCE,
    CHECK_FENCED,
    CHECK_ALONE,
    CHECK_LEASE,
    CHECK_FINAL,
    CHECK_DRAINED,
    CHECK_LATE,
    CHECK_LOST,
    CHECK_EVEN,
    CHECK_STILL,
};
const char *checker_name(enum checker c);

void checks_shards(const struct shard_seen before[SHARDS], uint64_t by);
void checks_starting(const struct node *n, const struct outcome *o);
void checks_storing(const struct outcome *o);
void checks_releasing(const struct node *n, const struct shards_todo *todo);
void checks_calm(void); /* each second once nothing happens any more */
bool checks_all_done(void);

/* --- the world (world.c) -----------------------------------------------------------------------
 */

#define TRACE_LINES 60
#define TRACE_BYTES 160

struct world {
    uint64_t seed;
    struct rng rng;
    int64_t now_ms;
    struct timeline timeline;
    struct database db;
    struct node *nodes[NODES_EVER]; /* dead ones too */
    size_t node_count, at_once;     /* how many there ought to be */
    uint32_t lane_count, lane_apps[LANES_MOST];
    int64_t skew_ppm, event_every_ms;
    struct request *requests;
    struct exchange *exchanges;
    struct moment fate, event, check;
    bool calm;
    int64_t calm_ms, ends_ms;
    int64_t starts, refused, moves, settled_moves, steps, stops, cuts, kills;
    bool failed;
    enum checker failed_by;
    char finding[256];
    char trace[TRACE_LINES][TRACE_BYTES];
    uint64_t traced;
};
extern struct world w;

void world_run(uint64_t seed);
void world_close(void);
void world_found(enum checker by, const char *format, ...) PRINTF_LIKE(2, 3);
void world_trace(const char *format, ...) PRINTF_LIKE(1, 2);
void world_print_trace(void);

static inline void happens_at(struct moment *m, int64_t at_ms)
{
    timeline_add(&w.timeline, m, at_ms, rng_next(&w.rng));
}
static inline int64_t below(int64_t bound)
{
    return (int64_t)rng_below(&w.rng, (uint64_t)bound);
}
static inline bool one_in(int64_t n)
{
    return below(n) == 0;
}
static inline lane_no lane_no_of(uint32_t lane)
{
    return lane_of(w.lane_apps[lane], LANE_SUCCESS);
}
static inline uint32_t shard_of_lane(uint32_t lane)
{
    return leases_shard(lane_no_of(lane));
}

/* --- planted bugs (plants.c) -------------------------------------------------------------------
 */

struct plant {
    const char *name;
    enum checker caught_by;
};
extern const struct plant plants[];
extern const size_t plant_count;
extern int plant_now; /* an index into plants; -1: none */
bool planted(const char *name);
