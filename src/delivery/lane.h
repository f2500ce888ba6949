/* One lane: the queue of one configured URL. What it has in memory, what it knows to wait in the
 * store, how many it may have under way.
 *
 * Everything here is state and pure moves of it: no clock, no I/O. lane_decide.c says what to do
 * next as a function of (lane, now); the dispatcher does it.
 *
 * The invariant that keeps a callback from being lost: each pending callback of the lane is
 * either held (held.h), or the next scan of the store will meet it: a scan begins at next_due_ms
 * at the latest, and what left memory during a scan is remembered in dropped_due_ms. */
#pragma once

#include "delivery/destination.h"
#include "delivery/health.h"
#include "delivery/held.h"
#include "delivery/lane_pace.h"
#include "delivery/lane_scans.h"
#include "delivery/lane_state.h"
#include "delivery/queue.h"
#include "domain/callback_end.h"
#include "domain/gone_run.h"
#include "domain/refused_types.h"
#include "domain/window.h"
#include "store/store.h"

#define LANE_MAGIC 0x1A4E1A4Eu
#define LANE_RETRY_IN_RAM_MS 10000 /* a retry due within that may wait in memory */
#define LANE_QUIET_MS 1000 /* tries under way and no answer for so long: it may be hanging */
#define LANE_RESENDS_APART_MS 1000 /* shut: between the starts of tries that resends ask for */
#define LANE_IDLE_MS 60000         /* nothing in hand, nothing waiting: forgotten after that */
#define LANE_IDLE_SUSPENDED_MS 600000
#define LANE_IDLE_GONE_MS (24 * 3600 * 1000) /* while it counts 410s */
#define LANE_ROOM_ALWAYS 16                  /* what a lane gets even when memory is nearly full */

/* docs/state.md has the moves. The first that applies, top down. */
enum lane_mode {
    LANE_LEAVING,  /* its URL belongs to another loop now: ends what is under way, then moves */
    LANE_HALTED,   /* the app is disabled: waits, its schedules stopped */
    LANE_DRAINING, /* no URL: what waits is skipped */
    LANE_HELD,     /* disabled by 410s: waits, its schedules go on */
    LANE_SHUT,     /* suspended, or its destination is dead: one try at a time */
    LANE_OPEN,
};

/* The app's settings as far as its lanes need them between attempts. */
struct lane_settings {
    bool enabled, has_url, disabled;
    bool is_elsewhere; /* its URL belongs to another loop, or its shard to another node */
    int32_t max_concurrency, rate_per_second;
    int64_t enabled_since_ms;
    int64_t lane_enabled_ms; /* wall: when it was last enabled after 410s; 0: never */
    uint64_t url_hash, app_version;
};

/* The one callback that a shut lane has queued. */
struct lane_probe {
    bool is_ready;          /* it is queued, as the next try */
    bool is_resend;         /* it waits for resend_mono_ms, not for the time of the next try */
    int64_t resend_mono_ms; /* the next resend is tried then at the earliest */
};

/* What the receiver's answers say of it. */
struct lane_contact {
    int64_t heard_mono_ms; /* when it last answered, or when its first try since then began */
    bool is_proven;        /* it has answered since the lane came into memory */
    bool is_quiet;         /* see LANE_QUIET_MS; looked at by lane_ripen */
};

/* The state that was last logged and sent, see dispatcher_note_state. */
struct lane_reported {
    int64_t since_ms; /* wall; 0: since it came into memory */
    enum lane_state state;
    bool success; /* in that state */
};

/* Where its dispatcher has it; the dispatcher's alone. */
struct lane_turn {
    struct waker waker;
    struct link touched, ready, wants_room;
    struct link at_destination, blocked; /* in its destination's lists */
    uint8_t ready_queue;                 /* 0: in none; else the dispatcher's queue, from 1 */
    bool is_touched, is_wanting_room, is_blocked;
};

/* What the lanes of one dispatcher share. */
struct lane_shared {
    int64_t in_ram, in_ram_bytes; /* callbacks in memory */
    int64_t give_up_ms;           /* callback_give_up_ms of the schedule */
};

struct lane {
    uint32_t magic;
    bool leaving;
    bool gone;          /* disabled by 410s; true until the directory knows */
    bool took_fresh;    /* queues take turns: the last one came from `fresh` */
    bool was_shut;      /* when lane_note_mode last looked */
    uint32_t lingering; /* held entries that only wait for the page under way */
    struct refused_types refused_types;
    lane_no no;
    int64_t fence; /* its shard's, when it was made; see store/leases.h */
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
    struct hash_map held;  /* struct held_entry */
    struct health *health; /* NULL: never tried since it was last forgotten */
    int32_t in_flight, in_ram;

    /* What is known of the store. */
    struct handoff_watermark watermark;
    struct lane_scans scans;

    struct lane_pace pace;
    struct lane_probe probe;
    struct lane_contact contact;
    struct lane_reported reported;
    int64_t touched_mono_ms; /* something happened last, for LANE_IDLE_MS */
};

struct lane_now {
    int64_t wall_ms; /* never goes back but by lane_clock_back, see dispatcher_now */
    int64_t mono_ms;
};

struct lane *lane_new(lane_no no, struct lane_shared *shared, const struct lane_now *now);
void lane_free(struct lane *lane); /* nothing held, not at a destination */
enum lane_mode lane_mode(const struct lane *lane);
/* Gives way to healthy lanes, and shares the seats that hanging tries may hold: it fails, or it is
 * quiet, or it has never answered and this would be more than its first try. Without the last two
 * a few hundred receivers that accept and never answer would take every seat before their first
 * time-out. */
bool lane_is_sick(const struct lane *lane);
int32_t lane_ram_goal(const struct lane *lane);
int32_t lane_queued(const struct lane *lane);
/* True when nothing is left that the lane would be needed for. */
bool lane_is_idle(const struct lane *lane);

void lane_set(struct lane *lane, const struct lane_settings *settings, const struct lane_now *now);
/* Another loop or node has it from now on, unless lane_set says otherwise. */
void lane_begin_leaving(struct lane *lane);
/* This URL has asked to wait (Retry-After): nothing starts before, unless another one is set. */
void lane_pause(struct lane *lane, uint64_t url_hash, int64_t until_mono_ms);
/* This URL has answered a callback with 410. True when the lane is disabled by that, until
 * lane_settle_gone or another URL. */
bool lane_add_gone(struct lane *lane, uint64_t url_hash, uint64_t event_no);
void lane_settle_gone(struct lane *lane); /* the settings say what came of it */

/* A callback handed over by the store; takes it. room: how many more may be in memory.
 */
void lane_offer(struct lane *lane, struct callback *c, int32_t room, const struct lane_now *now);
/* What was carried here before now may have been erased. */
void lane_doubt(struct lane *lane, const struct lane_now *now);
/* Something may be due in the store from due_ms on. */
void lane_note_waiting(struct lane *lane, int64_t due_ms);
/* Gives everything queued back to the store. */
void lane_drop_queued(struct lane *lane);
/* The wall clock was put back to `now`, by so much: nothing that was read by the old time is used.
 */
void lane_clock_back(struct lane *lane, int64_t by_ms, const struct lane_now *now);
/* The store has callbacks of this lane that are due too late, by so much at most. */
void lane_note_late(struct lane *lane, int64_t by_ms, const struct lane_now *now);
/* The store has erased that panelist: what waits here leaves memory (the store has it as skipped),
 * what is being tried does once its try has ended. Returns how many. */
size_t lane_erase(struct lane *lane, uint32_t account_no, struct str panelist_id);
/* Retries whose time has come join the queue. */
void lane_ripen(struct lane *lane, const struct lane_now *now);
/* The receiver answered: whatever it said, it is there. */
void lane_heard(struct lane *lane, const struct lane_now *now);
/* Counts its downtime by its mode, too: a lane on a dead host is down without a try of its own. */
void lane_note_mode(struct lane *lane, const struct lane_now *now);
/* Whether a callback that waits in the store is dead without another try. */
bool lane_gives_up(const struct lane *lane, const struct schedule *s, const struct callback *c,
                   const struct lane_now *now);

/* The next to try (or to skip); in flight until lane_finish. */
struct callback *lane_take(struct lane *lane);
void lane_count_start(struct lane *lane, const struct lane_now *now); /* towards the rate */
/* A shut lane starts the try of a resend: the next one keeps its distance. */
void lane_count_resend(struct lane *lane, const struct lane_now *now);
enum lane_finish {
    LANE_FINISH_FINAL,   /* recorded: delivered, dead or skipped */
    LANE_FINISH_WAITING, /* recorded: pending; kept in memory when its time is near */
    LANE_FINISH_LOOK,    /* recorded; a resend or an erasure came meanwhile: the store knows more */
    LANE_FINISH_CANCELLED, /* nothing recorded: still due in the store */
};
void lane_finish(struct lane *lane, struct callback *c, enum lane_finish how, int32_t room,
                 const struct lane_now *now);
/* An outcome of this lane is durable. */
void lane_recorded(struct lane *lane, uint64_t event_no, enum callback_state state, int64_t due_ms,
                   const struct lane_now *now);

/* What the page under way shows has been erased meanwhile, perhaps: lane_page_failed follows. */
void lane_spoil_page(struct lane *lane);
/* A page was asked for. */
void lane_page_asked(struct lane *lane, enum lane_page_kind kind);
/* One item of the page just come, whatever is done with it. */
void lane_page_shows(struct lane *lane, const struct callback *c);
/* Takes over one item of the page just come; false: not wanted, the caller's. */
bool lane_page_take(struct lane *lane, struct callback *c);
/* Where a page of that kind begins. */
struct scan_cursor lane_page_from(const struct lane *lane, enum lane_page_kind kind);
/* One item of a sweep is dead without a try: recorded by the caller. */
void lane_sweep_take(struct lane *lane, uint64_t event_no);
/* One that is queued here, or in the store only, has another place: recorded by the caller. */
void lane_redate(struct lane *lane, uint64_t event_no, const struct schedule_place *place);
/* The page is used up. taken: how many of its items were of use. */
void lane_page_ended(struct lane *lane, const struct due_page *page, size_t taken,
                     const struct lane_now *now);
void lane_page_failed(struct lane *lane, const struct lane_now *now); /* the store was busy */

/* Slots that passed while the app was disabled do not count: the schedule stood still. */
void lane_settle_place(const struct lane *lane, struct schedule_place *place);

/* --- deciding (lane_decide.c) ------------------------------------------------------------ */

enum lane_action {
    LANE_WAIT,  /* for wake_mono_ms, for what `needs` says, or for what is under way */
    LANE_START, /* take one and try it */
    LANE_SKIP,  /* take one and record it as skipped */
    LANE_PAGE,  /* ask the store: page_* */
    LANE_DROP,  /* give what is queued back to the store */
    LANE_LEAVE, /* hand the lane over to its new loop */
    LANE_FORGET,
};
enum lane_need { LANE_NEEDS_SEAT = 1, LANE_NEEDS_DESTINATION = 2, LANE_NEEDS_ROOM = 4 };

struct lane_means { /* what the dispatcher can give */
    bool seat;      /* an exchange more */
    bool page_seat; /* a page more */
    bool dates;     /* what was recorded before the clock was put back is durable */
    int32_t room;   /* callbacks more in memory */
};

struct lane_decision {
    enum lane_action action;
    unsigned needs;       /* enum lane_need */
    int64_t wake_mono_ms; /* INT64_MAX: no time to wait for */
    enum lane_page_kind page_kind;
    uint32_t page_limit;
    int64_t page_until_ms;
};

struct lane_decision lane_decide(const struct lane *lane, const struct lane_now *now,
                                 const struct lane_means *means);
