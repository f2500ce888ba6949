/* A lane: the queue of one endpoint. It has the callbacks in memory, what it knows about callbacks
 * in the store, and its window: how many attempts may be under way.
 *
 * This file is state and its pure transitions: no clock, no I/O. lane_decide.c decides what a lane
 * does next as a function of (lane, now); the dispatcher does it. All functions run on the thread
 * of the loop that owns the lane.
 *
 * The invariant that keeps callbacks from being lost: each pending callback of the lane is in the
 * in-flight table (inflight.h), or the next scan of the store will find it. A scan begins at
 * next_due_ms at the latest. While a scan runs, dropped_due_ms remembers the callbacks that leave
 * memory. An erasure drops them by lane_erase. */
#pragma once

#include "delivery/callback_queue.h"
#include "delivery/destination.h"
#include "delivery/inflight.h"
#include "delivery/lane_backoff.h"
#include "delivery/lane_health.h"
#include "delivery/lane_pace.h"
#include "delivery/lane_scans.h"
#include "delivery/lane_state.h"
#include "domain/callback_end.h"
#include "domain/gone_run.h"
#include "domain/refused_types.h"
#include "domain/window.h"
#include "store/store.h"

#define LANE_MAGIC 0x1A4E1A4Eu
#define LANE_RETRY_IN_RAM_MS 10000 /* a retry that is due within this time may wait in memory */
/* with attempts under way and no answer for this time the receiver may hang */
#define LANE_QUIET_MS 1000
#define LANE_RESENDS_APART_MS 1000 /* shut lanes: least time between the attempts of resends */
#define LANE_IDLE_MS MINUTE_MS     /* a lane without callbacks is forgotten after this time */
#define LANE_IDLE_SUSPENDED_MS (10 * MINUTE_MS)
#define LANE_IDLE_GONE_MS DAY_MS /* the same while it counts 410s */
/* callbacks that a lane may have even if memory is nearly full */
#define LANE_ROOM_ALWAYS 16

/* Modes of a lane; the first that applies, from the top. docs/state.md has the transitions. */
enum lane_mode {
    LANE_LEAVING,  /* its URL belongs to another loop now: it ends its exchanges, then moves */
    LANE_HALTED,   /* the app is disabled: callbacks wait, their schedules stand still */
    LANE_DRAINING, /* no URL: waiting callbacks are skipped */
    LANE_HELD,     /* disabled by 410s: callbacks wait, their schedules go on */
    LANE_SHUT,     /* suspended, or its destination is dead: one attempt at a time */
    LANE_OPEN,
};

/* The app's settings that its lanes need between attempts. */
struct lane_settings {
    bool enabled, has_url, disabled;
    bool is_elsewhere; /* its URL belongs to another loop, or its shard to another node */
    int32_t max_concurrency, rate_per_second;
    int64_t enabled_since_ms;
    /* wall clock: when it was last enabled again after 410s; 0: never, or by a wrong clock */
    int64_t lane_enabled_ms;
    uint64_t url_hash, app_version;
};

/* The single callback that a shut lane has queued. */
struct lane_probe {
    bool is_ready;          /* it is queued for the next attempt */
    bool is_resend;         /* it waits for resend_mono_ms, not for the time of the next probe */
    int64_t resend_mono_ms; /* the next resend starts then at the earliest */
};

/* What the receiver's answers say about it. */
struct lane_contact {
    int64_t heard_mono_ms; /* when it last answered, or when the first attempt after that began */
    bool is_proven;        /* it has answered since the lane came into memory */
    bool is_quiet;         /* no answer for LANE_QUIET_MS; set by lane_ripen */
};

/* The state that was last logged and reported, see dispatcher_note_state. */
struct lane_reported {
    int64_t since_ms; /* wall clock; 0: since it came into memory */
    enum lane_state state;
    bool success; /* a success in that state */
};

/* Its places in the dispatcher's lists. Only the dispatcher uses them. */
struct lane_turn {
    struct waker waker;
    struct link touched, ready, wants_room;
    struct link at_destination, blocked; /* in its destination's lists */
    /* 0: in no ready queue; else the number of the queue, from 1 */
    uint8_t ready_queue;
    bool is_touched, is_wanting_room, is_blocked;
};

/* What the lanes of one dispatcher share. */
struct lane_shared {
    int64_t in_ram, in_ram_bytes; /* callbacks in memory, and their bytes */
    int64_t fresh;                /* of them, in the lanes' queues of new ones */
    int64_t give_up_ms;           /* callback_give_up_ms of the schedule */
    struct clock_lead lead;       /* of the dispatcher's clock */
    int64_t erased_mono_ms;       /* of the last erasure of any account, see handoff_judge */
};

struct lane {
    uint32_t magic;
    bool leaving;
    bool gone;          /* disabled by 410s; true until the directory knows */
    bool took_fresh;    /* the queues take turns: the last callback was from `fresh` */
    bool was_shut;      /* at the last lane_note_mode */
    uint32_t lingering; /* entries in `inflight` that wait only for the page under way */
    struct refused_types refused_types;
    lane_no no;
    int64_t fence; /* the fence of its shard when it was created; see store/leases.h */
    struct hash_node node;
    struct lane_turn turn;
    struct lane_shared *shared;
    struct destination *destination; /* NULL: no URL */
    struct lane_settings settings;
    struct window window;
    struct gone_run gone_run;
    struct lane_downtime downtime;
    struct callback_queue fresh, due;
    struct retries retries;
    struct hash_map inflight; /* struct inflight_entry */
    struct health *health;    /* NULL: never tried since it was last forgotten */
    int32_t in_flight, in_ram;

    /* What the lane knows about the store. */
    struct handoff_watermark watermark;
    struct lane_scans scans;

    struct lane_pace pace;
    struct lane_backoff backoff;
    struct lane_probe probe;
    struct lane_contact contact;
    struct lane_reported reported;
    int64_t touched_mono_ms; /* last activity, for LANE_IDLE_MS */
};

struct lane_now {
    int64_t wall_ms; /* goes back by lane_clock_back only, see dispatcher_now */
    int64_t mono_ms;
};

struct lane *lane_new(lane_no no, struct lane_shared *shared, const struct lane_now *now);
void lane_free(struct lane *lane); /* must hold nothing and be at no destination */
enum lane_mode lane_mode(const struct lane *lane);
/* True for a lane that gives way to healthy ones and shares the bounded seats of sick lanes: it
 * fails, or cannot be tried, or is quiet, or has never answered and has an attempt under way
 * already. Without the last two rules a few hundred receivers that accept and never answer would
 * take every seat before their first time-out. */
bool lane_is_sick(const struct lane *lane);
int32_t lane_ram_goal(const struct lane *lane);
int32_t lane_queued(const struct lane *lane);
/* True if the lane can be forgotten. */
bool lane_is_idle(const struct lane *lane);

void lane_set(struct lane *lane, const struct lane_settings *settings, const struct lane_now *now);
/* Makes the lane leave for another loop or node, unless lane_set cancels that. */
void lane_begin_leaving(struct lane *lane);
/* The URL asked for a pause (Retry-After): no attempt starts before its end, unless the URL
 * changes. */
void lane_pause(struct lane *lane, uint64_t url_hash, int64_t until_mono_ms);
/* The URL answered a callback with 410. True if that disables the lane, until lane_settle_gone or
 * another URL. */
bool lane_add_gone(struct lane *lane, uint64_t url_hash, uint64_t event_no);
void lane_settle_gone(struct lane *lane); /* from now on the settings decide */

/* Takes a callback that the store hands over. room: how many more may be in memory. */
void lane_offer(struct lane *lane, struct callback *c, int32_t room, const struct lane_now *now);
/* Callbacks in the store may be due from due_ms on. */
void lane_note_waiting(struct lane *lane, int64_t due_ms);
/* Gives all queued callbacks back to the store. */
void lane_drop_queued(struct lane *lane);
/* Any callback in memory may have been erased: gives the queued ones back to the store, and those
 * with an attempt under way when it ends. */
void lane_reread(struct lane *lane);
/* The wall clock was put back to `now` by by_ms: discards all that was read by the old clock. */
void lane_clock_back(struct lane *lane, int64_t by_ms, const struct lane_now *now);
/* The store has callbacks of this lane that are due up to by_ms too late. */
void lane_note_late(struct lane *lane, int64_t by_ms, const struct lane_now *now);
/* The store has erased the panelist. Waiting callbacks of the panelist leave memory now (the store
 * has them as skipped), those with an attempt under way when it ends. Returns how many. */
size_t lane_erase(struct lane *lane, uint32_t account_no, struct str panelist_id);
/* Moves retries that are due into the queue. */
void lane_ripen(struct lane *lane, const struct lane_now *now);
/* The receiver has answered anything at all: it is up. */
void lane_heard(struct lane *lane, const struct lane_now *now);
/* Counts downtime by the lane's mode too: a lane on a dead host is down without an attempt of its
 * own. */
void lane_note_mode(struct lane *lane, const struct lane_now *now);
/* True if a callback that waits in the store is to become dead without another attempt. */
bool lane_gives_up(const struct lane *lane, const struct schedule *s, const struct callback *c,
                   const struct lane_now *now);

/* Takes the next callback for an attempt (or to skip it); in flight until lane_finish. */
struct callback *lane_take(struct lane *lane);
void lane_count_start(struct lane *lane, const struct lane_now *now); /* counts for the rate */
/* A shut lane starts the attempt of a resend: the next resend keeps its distance. */
void lane_count_resend(struct lane *lane, const struct lane_now *now);
enum lane_finish {
    LANE_FINISH_FINAL,   /* recorded: delivered, dead or skipped */
    LANE_FINISH_WAITING, /* recorded: pending; kept in memory when its time is near */
    /* recorded; a resend or an erasure came meanwhile, so the store has to be read */
    LANE_FINISH_LOOK,
    LANE_FINISH_CANCELLED, /* nothing recorded: still due in the store */
};
void lane_finish(struct lane *lane, struct callback *c, enum lane_finish how, int32_t room,
                 const struct lane_now *now);
/* An outcome of this lane has become durable. */
void lane_recorded(struct lane *lane, uint64_t event_no, enum callback_state state, int64_t due_ms,
                   const struct lane_now *now);

/* The page under way may show erased texts: its answer must be lane_page_failed. */
void lane_spoil_page(struct lane *lane);
/* A page was asked for. */
void lane_page_asked(struct lane *lane, enum lane_page_kind kind);
/* Notes one item of the page that has arrived, whatever happens to it. */
void lane_page_shows(struct lane *lane, const struct callback *c);
/* Takes one item of the page that has arrived. False: it is not wanted and stays the caller's. */
bool lane_page_take(struct lane *lane, struct callback *c);
/* The position at which the next page of that kind begins. */
struct scan_cursor lane_page_from(const struct lane *lane, enum lane_page_kind kind);
/* One item of a sweep becomes dead without an attempt; the caller records it. */
void lane_sweep_take(struct lane *lane, uint64_t event_no);
/* Gives a callback, queued here or only in the store, another place; the caller records it. */
void lane_redate(struct lane *lane, uint64_t event_no, const struct schedule_place *place);
/* All items of the page are handled. taken: how many of them were of use. */
void lane_page_ended(struct lane *lane, const struct due_page *page, size_t taken,
                     const struct lane_now *now);
void lane_page_failed(struct lane *lane, const struct lane_now *now); /* the store was busy */

/* Removes the slots that passed while the app was disabled: the schedule stood still. */
void lane_settle_place(const struct lane *lane, struct schedule_place *place);

/* --- deciding (lane_decide.c) ------------------------------------------------------------ */

enum lane_action {
    LANE_WAIT,   /* for wake_mono_ms, for `needs`, or for exchanges under way */
    LANE_START,  /* take a callback and start its attempt */
    LANE_SKIP,   /* take a callback and record it as skipped */
    LANE_PAGE,   /* ask the store for a page: page_* */
    LANE_DROP,   /* give queued callbacks back to the store */
    LANE_LEAVE,  /* give the lane to its new loop */
    LANE_FORGET, /* free the lane: it has long been idle */
};
enum lane_need { LANE_NEEDS_SEAT = 1, LANE_NEEDS_DESTINATION = 2, LANE_NEEDS_ROOM = 4 };

struct lane_means { /* what the dispatcher can give */
    bool seat;      /* one more exchange */
    bool page_seat; /* a page more */
    bool dates;     /* the outcomes from before the clock was put back are durable */
    int32_t room;   /* more callbacks in memory from a page */
};

struct lane_decision {
    enum lane_action action;
    unsigned needs;       /* enum lane_need */
    int64_t wake_mono_ms; /* INT64_MAX: not for a time */
    enum lane_page_kind page_kind;
    uint32_t page_limit;
    int64_t page_until_ms;
};

struct lane_decision lane_decide(const struct lane *lane, const struct lane_now *now,
                                 const struct lane_means *means);
