/* The store's contract: what is recorded, what a crash leaves, who owns what.
 *
 * Every request is a struct owned by the asker, valid until its `done` task has been posted to
 * `reply_to`; its results are then filled in and it belongs to the asker again. Requests may be
 * made on any thread and never block it. One conformance suite (tests/conformance/) runs on
 * every implementation; the plain in-memory one (tests/memory_store/) is the oracle.
 *
 * Durability: when a request that changes something is done with STORE_OK, its effect survives
 * kill -9 and power cuts, whole. STORE_BUSY: nothing of it is stored. STORE_FAILED: the store has
 * stopped; the process must end and recover by restarting. The request is then found whole or
 * not at all, nobody knows which; but see struct intake_batch.
 * Order: changes take effect in the order in which they were asked for by one thread, but for
 * outcomes, which may overtake changes that wait for room; a read
 * sees every change whose `done` was posted before the read was asked for. */
#pragma once

#include "base/arena.h"
#include "base/executor.h"
#include "domain/event.h"
#include "store/bounds.h"
#include "store/callback.h"
#include "store/delivery_stats.h"
#include "store/leases.h"
#include "store/numbers.h"
#include "store/outcome.h"

/* --- taking in ------------------------------------------------------------------------- */

/* A batch whose records are many is made durable in several groups, and is done when the last of
 * them is: a crash, or STORE_FAILED, may leave its first items and not its last ones. */
struct intake_batch {
    struct task done;
    struct executor *reply_to;
    struct arena arena; /* holds everything the items point at, but for the request's body */
    struct candidate *items;
    size_t count;
    size_t bytes; /* of memory that it takes until it is done, for LIMIT_STORE_QUEUED_BYTES */
    int64_t received_ms;
    /* results */
    enum store_status status;
    struct verdict *verdicts; /* count of them, in the batch's arena */
};

/* --- outcomes of attempts --------------------------------------------------------------- */

/* Outcomes are always taken, even when events are refused as busy. */
struct outcome_batch {
    struct task done;
    struct executor *reply_to;
    struct arena arena;
    struct outcome *items;
    size_t count;
    enum store_status status;
};

/* --- owed callbacks --------------------------------------------------------------------- */

/* A reversal whose original is still waiting is pending too, but held back: it is neither handed
 * out nor paged before the original is delivered, dead or skipped; that outcome's commit hands
 * it to the sink. */

/* Called by the store's own thread right after a commit, with callbacks that have just become
 * pending and due, and are the sink's from now on. The sink may drop any of them: what it
 * drops it finds again by paging. Must not block.
 *
 * Those that carry another process's stamp may have been handed out, or have become
 * final, before: the sink judges, store/nodes/handoff.h. */
struct owed_sink {
    void (*owed)(struct owed_sink *sink, struct callback **callbacks, size_t count);
};

/* Where a scan of a lane's waiting callbacks stands: behind this one, in the order of due time and
 * number. Zeros: at the start. */
struct scan_cursor {
    int64_t due_ms;
    uint64_t event_no;
};

static inline bool scan_cursor_is_start(struct scan_cursor c)
{
    return c.due_ms == 0 && c.event_no == 0;
}

/* The next due callbacks of a lane, oldest due first, none that is final. May return one that
 * the lane holds already or whose outcome it has not submitted yet; the lane leaves those out. */
struct due_page {
    struct task done;
    struct executor *reply_to;
    lane_no lane;
    int64_t due_until_ms; /* only those due by then */
    struct scan_cursor after;
    uint32_t limit; /* at most LIMIT_PAGE_CALLBACKS */
    /* In no hurry, and only states and places matter: bodies may be absent, and what came or
     * moved within the last seconds may be missing as if it were not there. */
    bool brief;
    /* results */
    enum store_status status;
    struct callback **items; /* malloc'ed, and theirs: the asker's */
    size_t count;
    bool more; /* more are due by due_until_ms behind the last one, or were just now */
    struct scan_cursor last; /* to go on from */
    int64_t next_due_ms; /* when nothing more is due now: the lane's next due time, or INT64_MAX;
                          * never late, early where what was due then has just become final */
};

/* Lanes that have waiting callbacks, at start; of its own shards only. Blocking; before any
 * request. */
struct lane_backlog {
    lane_no lane;
    int64_t next_due_ms;
};

/* --- accounts --------------------------------------------------------------------------- */

enum object_kind {
    OBJECT_PARTNER = 1,
    OBJECT_APP = 2,
    OBJECT_CLIENT = 3,
    OBJECT_KEY = 4,
    OBJECT_RECOVERY = 7, /* stored: append only; 5 and 6 were never written */
    OBJECT_USER = 8,
    OBJECT_SESSION = 9,
    OBJECT_AUDIT = 10, /* grows for ever: listed, never visited */
    OBJECT_NOTICE = 11,
    OBJECT_MARK = 12, /* in clusters that have none of the others, store/clusters/ */
    OBJECT_IDEMPOTENCY_KEY = 13,
};
#define OBJECT_KIND_LAST OBJECT_IDEMPOTENCY_KEY

/* What becomes durable together with a change, whole or not at all. */
struct object_part {
    enum object_kind kind;
    struct str id;
    struct str document; /* absent: delete; where there is none, nothing */
};

/* One account entry as a JSON document; the accounts folder knows its members. */
struct object_change {
    struct task done;
    struct executor *reply_to;
    enum object_kind kind;
    struct str id;
    struct str
        document; /* absent: delete; STORE_NOT_FOUND, and no part kept, where there is none */
    const struct object_part *parts; /* part_count of them; the asker's, in the order they apply */
    size_t part_count;
    /* Judged by accounts and people as the feed has told of them, or by this object: STORE_STALE,
     * and nothing is stored, where another process has changed any of those since. */
    bool judged;
    enum store_status status;
    int64_t
        revision; /* result, of a shared store: the feed's behind it; 0: the feed has none of it */
};

/* What other processes on the same store have changed since the last feed (or since they were
 * visited), in that order, without OBJECT_AUDIT. The asker takes it in before it asks again or
 * judges a change. A store that one process has alone has never any. */
struct object_feed {
    struct task done;
    struct executor *reply_to;
    struct arena arena;
    /* results */
    enum store_status status;
    struct object_part *rows; /* in the arena; document absent: it is gone */
    size_t count;
    bool more;
    int64_t revision; /* up to which all is known now */
};

/* Entries of one kind by id in the order of bytes, from the highest down. */
struct object_row {
    struct str id, document;
};

struct object_list {
    struct task done;
    struct executor *reply_to;
    struct arena arena;
    enum object_kind kind;
    uint32_t account_no;    /* whose they are; 0: of several or of none */
    struct str from, below; /* from <= id < below */
    uint32_t limit;
    enum store_status status;
    struct object_row *rows; /* in the arena */
    size_t count;
    bool more;
};
typedef void (*object_visitor)(void *context, enum object_kind kind, struct str id,
                               struct str document);

/* --- reading ----------------------------------------------------------------------------- */

/* Report rows of one account, ordered by day, then client_no; see reports/. One row per (day,
 * client) with any event accepted for that day (tests only with include_test). */
struct report_row {
    int32_t day;
    uint32_t client_no;
    int64_t survey_starts, active_panelists;
    int64_t survey_outcomes; /* whatever was paid; see event_is_survey_outcome */
    int64_t conversions[2];  /* 0 survey, 1 offer */
    __int128 earnings_micros[2];
};

struct report_query {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    int32_t first_day, last_day;
    bool include_test;
    const uint32_t *client_nos; /* NULL: all; sorted, client_count of them; the asker's */
    size_t client_count;
    /* a position: rows behind (after_day, after_client_no); after_day INT32_MIN: from the start */
    int32_t after_day;
    uint32_t after_client_no;
    size_t limit;
    /* results */
    enum store_status status;
    struct report_row *rows; /* malloc'ed, the asker's */
    size_t count;
    bool more;
};

/* How one report day went, in quarters of an hour, all clients together and without tests: what a
 * day is compared by that is not over yet. Kept for the days that are not older than INTRADAY_DAYS;
 * what is accepted later than that is in no slot. */
#define INTRADAY_SLOT_MS (15 * 60 * INT64_C(1000))
#define INTRADAY_SLOTS 96
#define INTRADAY_DAYS 2

struct intraday_slot {
    int64_t survey_starts, conversions;
    int64_t active_panelists; /* of a client, whose first start of the day lies in this slot */
    __int128 earnings_micros;
};

static inline bool intraday_slot_is_empty(const struct intraday_slot *slot)
{
    return slot->survey_starts == 0 && slot->conversions == 0 && slot->active_panelists == 0 &&
           slot->earnings_micros == 0;
}

struct intraday_query {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    int32_t day;
    /* results */
    enum store_status status;
    bool complete; /* false: slots were not counted yet, or are dropped, for a part of the day */
    struct intraday_slot slots[INTRADAY_SLOTS];
};

/* The slot that a store counts the event in; -1: in none. For stores. */
int intraday_slot(const struct event *e);

/* The books of one report day without its test events: per app what was owed, by kind and by what
 * has become of it, and a digest that a partner can compute from its own records. Events that owe
 * no callback are in no statement. A callback that is being tried is pending here. */
struct statement_sums {
    int64_t count;
    __int128 reward_micros, revenue_micros;
};

#define STATEMENT_DIGEST_BYTES 32
struct statement_app {
    uint32_t app_no;
    uint8_t reward_digits; /* the most that a Reward of it is printed with at least: 0..2 */
    /* SHA-256 of `RewardId<TAB>Reward<TAB>RevenueAmount<LF>` lines sorted by RewardId bytes,
     * amounts as the callback prints them (contract, section 2). */
    unsigned char digest[STATEMENT_DIGEST_BYTES];
    struct statement_sums sums[EVENT_TYPE_LAST + 1][CALLBACK_SKIPPED + 1];
};

struct statement_query {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    int32_t day; /* of the event's time, as in reports */
    /* results */
    enum store_status status;
    struct statement_app *apps; /* malloc'ed, the asker's; by app_no, those with any event */
    size_t count;
};

/* The books of whole days, checked (store/books.h says how): those behind a position in the order
 * of (account, day), one cluster (store_place) after the other, as many as fit. Reads what is
 * applied; asks for no commit and waits for none. Others' reads go first: STORE_BUSY when one came
 * before the first day was done. */
#define BOOKS_DIFFERENCES_MOST 100
#define BOOKS_DAYS_MOST 256

enum books_rule { BOOKS_RULE_OWED, BOOKS_RULE_EVENTS, BOOKS_RULE_EARNINGS };

/* app_no 0: earnings of a client that none of the day's events names. Earnings are an app's, in no
 * lane, and only revenue. `state` none: owed in all. */
struct books_difference {
    uint32_t account_no, app_no;
    int32_t day;
    enum lane_kind lane;
    bool is_test;
    enum books_rule rule;
    enum callback_state state;
    struct statement_sums ledger, found;
};

struct books_check {
    struct task done;
    struct executor *reply_to;
    uint32_t after_account_no; /* position: days behind this one; 0: from the start */
    int32_t after_day;
    int32_t from_day;       /* only days from it on; INT32_MIN: all */
    int64_t callbacks_most; /* ends with the day that passes it, or after BOOKS_DAYS_MOST */
    /* results */
    enum store_status status;
    int64_t days, callbacks; /* looked at */
    int64_t took_ms;
    bool more; /* perhaps: go on behind the last one */
    uint32_t last_account_no;
    int32_t last_day;
    struct books_difference *differences; /* malloc'ed, the asker's: the first ones, */
    size_t difference_count;              /* at most BOOKS_DIFFERENCES_MOST, */
    int64_t difference_total;             /* of so many */
};

/* What waits in the lanes of one app, by the ledger. */
struct lane_waiting {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no, app_no;
    /* results */
    enum store_status status;
    int64_t count[LANE_KINDS];
    /* When the first of them was accepted, by number, or by time among thousands, which differ
     * where a clock was put back; 0: none. */
    int64_t oldest_accepted_ms[LANE_KINDS];
};

/* One callback as the log shows it. Text is in the query's arena. Events that owe no callback
 * (survey_started) are never found, and listed only with all_events; their state is none. */
struct callback_row {
    struct event event;
    enum callback_state state;
    enum callback_reason reason;
    int64_t next_attempt_ms; /* pending: when due; else 0 */
    int32_t attempts;        /* made so far */
    /* In store_callback_get: all that are kept, oldest first. In a list: what its `attempts` asks
     * for, without URL, headers and bodies. */
    struct attempt *log;
    size_t log_count;
};

/* Borrows the event's texts. For stores. */
static inline struct callback_row callback_row_of(const struct event *e,
                                                  const struct callback_status *s)
{
    return (struct callback_row){
        .event = *e,
        .state = s->state,
        .reason = s->reason,
        .next_attempt_ms = s->state == CALLBACK_PENDING ? s->place.due_ms : 0,
        .attempts = s->attempts,
    };
}

/* A pending one that is being tried: shown as `delivering`, and no other try is in sight. */
static inline void callback_row_set_tried(struct callback_row *row)
{
    if (row->state != CALLBACK_PENDING)
        return;
    row->state = CALLBACK_DELIVERING;
    row->next_attempt_ms = 0;
}

struct callback_get {
    struct task done;
    struct executor *reply_to;
    struct arena arena;
    uint32_t account_no;
    struct str event_id;
    enum store_status status;
    struct callback_row row;
};

enum list_order { LIST_NEWEST_FIRST, LIST_OLDEST_FIRST };
/* Of each row: none, the last one of what is not delivered, or all that are kept, oldest first. */
enum list_attempts { ATTEMPTS_NONE, ATTEMPTS_LAST, ATTEMPTS_ALL };

struct callback_list {
    struct task done;
    struct executor *reply_to;
    struct arena arena;
    uint32_t account_no;
    bool all_events;                  /* events that owe no callback, too */
    struct str event_id, panelist_id; /* filters, up to `day`; absent or 0: any */
    enum event_type type;
    enum callback_state state;
    bool undelivered; /* of any state but delivered */
    uint32_t app_no;
    bool has_from, has_to;                    /* whether the next two are asked for */
    int64_t accepted_from_ms, accepted_to_ms; /* from inclusive, to exclusive */
    bool of_day;                              /* only those that happened on that report day */
    int32_t day;
    /* Event numbers, sorted, the asker's, of what is being tried, which no store knows: those of
     * them that are pending are `delivering`, for the filter and in the rows. */
    const uint64_t *tried;
    size_t tried_count;
    bool no_bodies; /* events without their bodies */
    /* The newest second may be missing, never anything before what is there: who reads all accounts
     * in turn makes no store write what it gathers earlier than it would. */
    bool may_lag;
    enum list_attempts attempts;
    enum list_order order;
    uint64_t after_event_no; /* position; 0: from the end the order begins at */
    uint32_t limit;
    enum store_status status;
    struct callback_row *rows; /* in the arena */
    size_t count;
    bool more;
};

/* Whether a row's attempts are read. For stores. */
static inline bool callback_list_wants_attempts(const struct callback_list *list,
                                                const struct callback_row *row)
{
    return list->attempts == ATTEMPTS_ALL ||
           (list->attempts == ATTEMPTS_LAST && row->attempts > 0 &&
            row->state != CALLBACK_DELIVERED);
}

/* Of a row's log keeps what the list shows, copied into its arena. For stores. */
void callback_list_keep_log(struct callback_list *list, struct callback_row *row);
int attempt_compare(const void *a, const void *b); /* oldest first, for qsort */
/* The state to show and to filter by. For stores. */
enum callback_state callback_list_state(const struct callback_list *list, uint64_t event_no,
                                        enum callback_state stored);

/* How many callbacks store_list_callbacks would list, by app. */
struct callback_count_row {
    uint32_t app_no;
    int64_t count;
};

struct callback_count {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    uint32_t app_no;                          /* 0: any */
    unsigned states;                          /* bits, 1 << state */
    int64_t accepted_from_ms, accepted_to_ms; /* from inclusive, to exclusive */
    /* results */
    enum store_status status;
    struct callback_count_row *apps; /* malloc'ed, the asker's; by app_no, those with any */
    size_t count;
};

/* Resend of one callback, as the contract's section 4 says. Done with the callback handed to the
 * sink. STORE_NOT_FOUND, STORE_PURGED, STORE_ERASED: nothing is stored. */
struct resend {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    struct str event_id;
    int64_t now_ms;
    unsigned only_states; /* bits, 1 << state: one of another state is not found; 0: any */
    const struct object_part *parts; /* as object_change's: kept with it, or not at all */
    size_t part_count;
    enum store_status status;
};

/* For stores. */
/* Before an event that came at received_ms is decided. */
void store_warn_of_clock(int64_t last_accepted_ms, int64_t received_ms);
static inline enum store_status resend_status(enum resend_verdict verdict)
{
    switch (verdict) {
    case RESEND_ACCEPTED: return STORE_OK;
    case RESEND_NOT_MEANT: return STORE_NOT_FOUND;
    case RESEND_BODY_PURGED: return STORE_PURGED;
    case RESEND_BODY_ERASED: return STORE_ERASED;
    }
    UNREACHABLE();
}

/* Replaces PanelistId, SessionId, Mid and bodies of one panelist; money rows stay. */
struct erase {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    struct str panelist_id;
    const struct object_part *parts; /* as object_change's */
    size_t part_count;
    enum store_status status;
    int64_t erased; /* events */
};

/* For stores: a new PanelistId that no panelist has, into `text`. */
#define ERASED_NAME_BYTES 32
struct str erased_name(struct env *env, char text[ERASED_NAME_BYTES]);

struct store;

/* What is asked: each with the struct behind it. */
enum request_kind {
    REQUEST_INTAKE,         /* intake_batch */
    REQUEST_OUTCOMES,       /* outcome_batch */
    REQUEST_OBJECT,         /* object_change */
    REQUEST_RESEND,         /* resend */
    REQUEST_ERASE,          /* erase */
    REQUEST_PAGE,           /* due_page */
    REQUEST_REPORT,         /* report_query */
    REQUEST_INTRADAY,       /* intraday_query */
    REQUEST_DELIVERY_STATS, /* delivery_stats_query */
    REQUEST_STATEMENT,      /* statement_query */
    REQUEST_COUNT,          /* callback_count */
    REQUEST_BOOKS,          /* books_check */
    REQUEST_WAITING,        /* lane_waiting */
    REQUEST_CALLBACK,       /* callback_get */
    REQUEST_CALLBACKS,      /* callback_list */
    REQUEST_OBJECTS,        /* object_list */
    REQUEST_FEED,           /* object_feed; only of a store that is shared */
    /* What the threads of a store ask of each other. */
    REQUEST_APPLIED, /* from the applier: a memtable is committed, or cannot be */
    REQUEST_APPLIER_FAILED,
    REQUEST_APPLY,      /* to the applier */
    REQUEST_CHECKPOINT, /* to the applier, and back to the scrub */
    REQUEST_PURGE,      /* to the applier */
    REQUEST_STOP,
};

struct store_ops {
    void (*request)(struct store *s, enum request_kind kind, void *what);
    /* NULL all of these: not shared with other processes. */
    struct leases *(*leases)(struct store *s);
    void (*watch)(struct store *s, struct store_watcher *watcher);
    void (*ask)(struct store *s, struct store_question *question);
    void (*answer)(struct store *s, uint32_t app_no, int64_t question, struct str answer);
    void (*place)(struct store *s, uint32_t account_no, uint32_t app_no, uint32_t cluster);
    /* Any thread, at once. Looks at the disk, too, where it is long since anybody asked: whoever
     * runs a store asks a few times a second. */
    void (*numbers)(struct store *s, struct store_numbers *ret);
    /* Any thread, at once; what has become too old goes within seconds. NULL: there are none. */
    void (*set_bounds)(struct store *s, const struct store_bounds *bounds);
    /* The key of this store's hashes (candidate.key and .content, see event_key): made once, kept
     * for ever, the store's. Any thread. */
    const struct hash_secret *(*hash_secret)(struct store *s);
    /* Before the first request; blocking. All but OBJECT_AUDIT. */
    void (*visit_objects)(struct store *s, object_visitor visit, void *context);
    size_t (*backlog)(struct store *s, struct lane_backlog **ret_lanes); /* malloc'ed */
    /* Starts taking requests; recovered pending callbacks go to the sink or are found by paging. */
    void (*start)(struct store *s, struct owed_sink *sink);
    /* NULL: nothing of it ever waits for long. Any thread, after the start. */
    void (*stopping)(struct store *s);
    /* Finishes what was asked for, makes it durable, frees everything. Blocking. */
    void (*close)(struct store *s);
};

#define STORE_MAGIC 0x57013E00u
struct store {
    uint32_t magic;
    const struct store_ops *ops;
};

/* The wrappers everybody calls: they assert the arguments and count. */
void store_submit(struct store *s, struct intake_batch *batch);
void store_record(struct store *s, struct outcome_batch *batch);
void store_page(struct store *s, struct due_page *page);
void store_change_object(struct store *s, struct object_change *change);
void store_list_objects(struct store *s, struct object_list *list);
void store_report(struct store *s, struct report_query *query);
void store_intraday(struct store *s, struct intraday_query *query);
void store_delivery_stats(struct store *s, struct delivery_stats_query *query);
void store_statement(struct store *s, struct statement_query *query);
void store_check_books(struct store *s, struct books_check *check);
void store_lane_waiting(struct store *s, struct lane_waiting *waiting);
void store_get_callback(struct store *s, struct callback_get *get);
void store_list_callbacks(struct store *s, struct callback_list *list);
void store_count_callbacks(struct store *s, struct callback_count *count);
void store_resend(struct store *s, struct resend *resend);
void store_erase(struct store *s, struct erase *erase);
void store_feed(struct store *s, struct object_feed *feed);
struct leases *store_leases(struct store *s); /* NULL: everything is ours */
/* Any time, NULL: nobody. When it returns, who watched before is told nothing more. */
void store_watch(struct store *s, struct store_watcher *watcher);
/* Of a shared store only. The text is copied; app_no as it was asked for. */
void store_ask(struct store *s, struct store_question *question);
void store_answer(struct store *s, uint32_t app_no, int64_t question, struct str answer);
/* Which cluster has an account (app_no 0), or one of its apps: before anything else is asked of
 * either. Never changes. Where there is one cluster, nothing. */
void store_place(struct store *s, uint32_t account_no, uint32_t app_no, uint32_t cluster);
void store_get_numbers(struct store *s, struct store_numbers *ret);
void store_set_bounds(struct store *s, const struct store_bounds *bounds);
const struct hash_secret *store_hash_secret(struct store *s);
void store_visit_objects(struct store *s, object_visitor visit, void *context);
size_t store_backlog(struct store *s, struct lane_backlog **ret_lanes);
void store_start(struct store *s, struct owed_sink *sink);
/* The process is about to end: what waits for something that is away for an unknown time is given
 * up within seconds, and the store then fails. */
void store_stopping(struct store *s);
void store_close(struct store *s);
