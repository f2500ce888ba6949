/* The store's contract: its requests, what each makes durable, and who owns the memory.
 *
 * Requests: every request is a struct that the caller allocates. From the call until its `done`
 * task is posted to `reply_to` the struct and everything it points at belong to the store; then its
 * results are filled in and the caller owns it again. Any thread may make a request; the call never
 * blocks and reports errors only in `status`. What cannot block or fail otherwise says so at its
 * declaration.
 *
 * Units: `_ms` is the wall clock in Unix milliseconds (UTC) unless it ends in `_mono_ms`; `day`
 * counts days of the event's own time, as in reports; money is in millionths.
 *
 * Durability: when a request that changes something is done with STORE_OK, its whole effect
 * survives kill -9 and power cuts. After STORE_BUSY nothing of the request is stored. STORE_FAILED
 * means that the store has stopped: the process must end, and the restart recovers. It then finds
 * the failed request either whole or not at all, and the caller cannot tell which; struct
 * intake_batch is the exception.
 *
 * Order: changes that one thread asks for take effect in the order of its calls, except that
 * outcomes may overtake changes that wait for room. A read sees every change whose `done` was
 * posted before the read was asked for.
 *
 * What implementations need besides: store_ops.h. One conformance suite (tests/conformance/) runs
 * on every one of them; the in-memory store in tests/memory_store/ is the oracle that they are
 * compared with. */
#pragma once

#include "base/arena.h"
#include "base/executor.h"
#include "domain/event.h"
#include "store/bounds.h"
#include "store/callback.h"
#include "store/delivery_stats.h"
#include "store/intraday.h"
#include "store/leases.h"
#include "store/numbers.h"
#include "store/outcome.h"

/* --- taking in ------------------------------------------------------------------------- */

/* Events to record. A large batch is made durable in several groups and is done when the last group
 * is durable. A crash or STORE_FAILED may therefore keep its first items and lose its last ones. */
struct intake_batch {
    struct task done;
    struct executor *reply_to;
    struct arena arena; /* everything the items point at except the request's body */
    struct candidate *items;
    size_t count;
    size_t bytes; /* memory held until it is done; counts against LIMIT_STORE_QUEUED_BYTES */
    int64_t received_ms;
    /* results */
    enum store_status status;
    struct verdict *verdicts; /* one per item, in the batch's arena */
};

/* --- outcomes of attempts --------------------------------------------------------------- */

/* What attempts changed (store/outcome.h). Never refused with STORE_BUSY, even while events are. */
struct outcome_batch {
    struct task done;
    struct executor *reply_to;
    struct arena arena;
    struct outcome *items;
    size_t count;
    enum store_status status;
};

/* --- owed callbacks --------------------------------------------------------------------- */

/* A reversal whose original is still waiting is pending too, but held back: the store neither hands
 * it out nor pages it. The commit that makes the original delivered, dead or skipped hands the
 * reversal to the sink. */

/* Receives callbacks that have just become pending and due, right after the commit that made them
 * so. Called on the store's own thread; must not block. The array is the store's, the callbacks
 * belong to the sink from the call on. The sink may drop any of them and find them again by paging.
 *
 * A callback with a stamp may be erased, may have been handed out before, or may be final already:
 * the sink has to ask store/nodes/handoff.h. */
struct owed_sink {
    void (*owed)(struct owed_sink *sink, struct callback **callbacks, size_t count);
};

/* Position of a scan over a lane's waiting callbacks, which are ordered by due time and event
 * number: the scan goes on behind this callback. All zeros: from the start. */
struct scan_cursor {
    int64_t due_ms;
    uint64_t event_no;
};

static inline bool scan_cursor_is_start(struct scan_cursor c)
{
    return c.due_ms == 0 && c.event_no == 0;
}

/* Reads the next due callbacks of a lane, the oldest due time first, and no final ones. The result
 * may contain a callback that the lane holds already, or whose outcome the lane has not submitted
 * yet; the lane leaves those out. */
struct due_page {
    struct task done;
    struct executor *reply_to;
    lane_no lane;
    int64_t due_until_ms; /* wall clock; later ones are not read */
    struct scan_cursor after;
    uint32_t limit; /* at most LIMIT_PAGE_CALLBACKS */
    /* The caller is in no hurry and needs only states and places: bodies may be absent, and changes
     * of the last seconds may be missing. */
    bool brief;
    /* results */
    enum store_status status;
    struct callback **items; /* malloc'ed, like the array; the caller's */
    size_t count;
    bool more;               /* more were due by due_until_ms behind the last one */
    struct scan_cursor last; /* where the next page continues */
    /* without `more`: when the lane's next callback is due, or INT64_MAX. Never too late; too early
     * where the callback due then has just become final */
    int64_t next_due_ms;
};

/* A lane with waiting callbacks, as store_backlog lists them before the first request. A shared
 * store lists only the lanes of shards that this process holds. */
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
    OBJECT_RECOVERY = 7, /* numbers are stored: append only; 5 and 6 were never written */
    OBJECT_USER = 8,
    OBJECT_SESSION = 9,
    OBJECT_AUDIT = 10, /* grows without bound: store_list_objects only, never visited */
    OBJECT_NOTICE = 11,
    OBJECT_MARK = 12, /* the only kind in clusters after the first, store/clusters/ */
    OBJECT_IDEMPOTENCY_KEY = 13,
};
#define OBJECT_KIND_LAST OBJECT_IDEMPOTENCY_KEY

/* A second object written in the same commit as a change, so that both are durable or neither. */
struct object_part {
    enum object_kind kind;
    struct str id;
    struct str document; /* absent: delete, which does nothing if there is no such object */
};

/* Writes or deletes one object. The document is JSON whose members only accounts/ and people/
 * know. */
struct object_change {
    struct task done;
    struct executor *reply_to;
    enum object_kind kind;
    struct str id;
    /* absent: delete; without such an object STORE_NOT_FOUND, and no part is written */
    struct str document;
    const struct object_part *parts; /* part_count of them, applied in this order; the caller's */
    size_t part_count;
    /* The caller has decided by the accounts and people that it knows from the change feed, or by
     * this object. If another process has changed any of them since, the status is STORE_STALE and
     * nothing is stored. */
    bool judged;
    enum store_status status;
    /* result, of a shared store: the feed's revision after this change; 0: the feed does not
     * contain it */
    int64_t revision;
};

/* Reads what other processes on the same store have changed since the last feed (before the first:
 * since store_visit_objects), in order, without OBJECT_AUDIT. The caller applies all rows before it
 * asks again or decides a change. Always empty for a store that is not shared. */
struct object_feed {
    struct task done;
    struct executor *reply_to;
    struct arena arena;
    /* results */
    enum store_status status;
    struct object_part *rows; /* in the arena; document absent: the object was deleted */
    size_t count;
    bool more;
    int64_t revision; /* the caller knows every change up to this one */
};

/* Lists objects of one kind by id, in descending byte order. */
struct object_row {
    struct str id, document;
};

struct object_list {
    struct task done;
    struct executor *reply_to;
    struct arena arena;
    enum object_kind kind;
    uint32_t account_no;    /* the owner's; 0: objects of several accounts or of none */
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

/* Reads report rows of one account, ordered by day, then client_no. There is one row for each (day,
 * client) with an accepted event on that day; test events count only with include_test. */
struct report_row {
    int32_t day;
    uint32_t client_no;
    int64_t survey_starts, active_panelists;
    int64_t survey_outcomes; /* paid or not; see event_is_survey_outcome */
    int64_t conversions[2];  /* 0 survey, 1 offer */
    __int128 earnings_micros[2];
};

struct report_query {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    int32_t first_day, last_day;
    bool include_test;
    /* NULL: all clients; else client_count of them, ascending; the caller's */
    const uint32_t *client_nos;
    size_t client_count;
    /* Position: only rows after (after_day, after_client_no). after_day INT32_MIN: from the
     * start. */
    int32_t after_day;
    uint32_t after_client_no;
    size_t limit;
    /* results */
    enum store_status status;
    struct report_row *rows; /* malloc'ed, the asker's */
    size_t count;
    bool more;
};

/* Reads the statement of one report day, without test events: what each app is owed, by event type
 * and callback state, and a digest that a partner can compute from its own records. An event
 * without a callback is in no statement. A callback with an attempt under way counts as pending. */
struct statement_sums {
    int64_t count;
    __int128 reward_micros, revenue_micros;
};

#define STATEMENT_DIGEST_BYTES 32
struct statement_app {
    uint32_t app_no;
    /* the largest number of digits after the point that any of its Rewards must be printed with:
     * 0..2 */
    uint8_t reward_digits;
    /* SHA-256 of `RewardId<TAB>Reward<TAB>RevenueAmount<LF>` lines sorted by RewardId bytes,
     * amounts as the callback prints them (contract, section 2). */
    unsigned char digest[STATEMENT_DIGEST_BYTES];
    struct statement_sums sums[EVENT_TYPE_LAST + 1][CALLBACK_SKIPPED + 1];
};

struct statement_query {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    int32_t day; /* day of the event's time */
    /* results */
    enum store_status status;
    struct statement_app *apps; /* malloc'ed, the caller's; ascending app_no; apps with an event */
    size_t count;
};

/* Checks the books (store/books.h) of as many whole days as fit, from a position in the order of
 * (account, day) on; several clusters are checked one after the other (store_place). It reads what
 * is applied already, so it needs no commit. Other reads go first: STORE_BUSY if one came before
 * the first day was finished. */
#define BOOKS_DIFFERENCES_MOST 100
#define BOOKS_DAYS_MOST 256

enum books_rule { BOOKS_RULE_OWED, BOOKS_RULE_EVENTS, BOOKS_RULE_EARNINGS };

/* app_no 0: earnings of a client that no event of the day names. BOOKS_RULE_EARNINGS compares the
 * revenue of a whole app and has no lane. `state` CALLBACK_NONE: the total owed. */
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
    uint32_t after_account_no; /* position: only days after this one; 0: from the start */
    int32_t after_day;
    int32_t from_day;       /* the first day to check; INT32_MIN: all */
    int64_t callbacks_most; /* ends with the day that exceeds this, or after BOOKS_DAYS_MOST days */
    /* results */
    enum store_status status;
    int64_t days, callbacks; /* checked */
    int64_t took_ms;
    bool more; /* more days may follow the last one */
    uint32_t last_account_no;
    int32_t last_day;
    struct books_difference *differences; /* malloc'ed, the caller's: the first ones */
    size_t difference_count;              /* at most BOOKS_DIFFERENCES_MOST */
    int64_t difference_total;             /* how many there are in all */
};

/* Reads from the books how many callbacks wait in each lane of one app. */
struct lane_waiting {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no, app_no;
    /* results */
    enum store_status status;
    int64_t count[LANE_KINDS];
    /* When the oldest waiting callback was accepted; 0: none waits. Oldest is the lowest event
     * number, or among thousands the earliest time; the two differ after the clock was put back. */
    int64_t oldest_accepted_ms[LANE_KINDS];
};

/* One callback as the log shows it; its texts are in the query's arena. Events without a callback
 * (survey_started) are never found by id, and are listed only with all_events; their state is
 * none. */
struct callback_row {
    struct event event;
    enum callback_state state;
    enum callback_reason reason;
    int64_t next_attempt_ms; /* pending: when due; else 0 */
    int32_t attempts;        /* so far */
    /* store_get_callback: all attempts that are kept, oldest first. Lists: those that `attempts`
     * asks for, without URL, headers and bodies. */
    struct attempt *log;
    size_t log_count;
};

/* Shows a pending callback with an attempt under way as `delivering`, with no next attempt. */
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
/* Which attempts a list returns with each row: none, the last one of a callback that is not
 * delivered, or all that are kept, oldest first. */
enum list_attempts { ATTEMPTS_NONE, ATTEMPTS_LAST, ATTEMPTS_ALL };

struct callback_list {
    struct task done;
    struct executor *reply_to;
    struct arena arena;
    uint32_t account_no;
    bool all_events; /* also events without a callback */
    /* this and what follows up to `day` are filters; absent or 0: any */
    struct str event_id, panelist_id;
    enum event_type type;
    enum callback_state state;
    bool undelivered; /* any state except delivered */
    uint32_t app_no;
    bool has_from, has_to;                    /* the next two are filters */
    int64_t accepted_from_ms, accepted_to_ms; /* from inclusive, to exclusive */
    bool of_day;                              /* only events of report day `day` */
    int32_t day;
    /* Numbers of the events whose callbacks have an attempt under way, ascending; the caller's. No
     * store knows them. Those that are pending count and are shown as `delivering`. */
    const uint64_t *tried;
    size_t tried_count;
    bool no_bodies; /* leaves the events' bodies out */
    /* The newest second may be missing, but no event older than one that is listed. A caller that
     * reads all accounts in turn sets it so that its reads do not make the store write early. */
    bool may_lag;
    enum list_attempts attempts;
    enum list_order order;
    /* position: only events after this one, in `order`; 0: from the start */
    uint64_t after_event_no;
    /* When that event was accepted, for LIST_OLDEST_FIRST; 0: unknown, nothing is compared. If
     * another event has the number, or none has it although later ones are listed, an older backup
     * was restored since: the list is STORE_FOREIGN, because it would skip events. */
    int64_t after_accepted_ms;
    uint32_t limit;
    enum store_status status;
    struct callback_row *rows; /* in the arena */
    size_t count;
    bool more;
};

/* Counts by app the callbacks that store_list_callbacks would list. */
struct callback_count_row {
    uint32_t app_no;
    int64_t count;
};

struct callback_count {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    uint32_t app_no;                          /* 0: any */
    unsigned states;                          /* set of states: bits 1 << state */
    int64_t accepted_from_ms, accepted_to_ms; /* from inclusive, to exclusive */
    /* results */
    enum store_status status;
    struct callback_count_row *apps; /* malloc'ed, the caller's; ascending app_no; apps with any */
    size_t count;
};

/* Resends one callback (the contract, section 4). When the request is done, the callback has been
 * handed to the sink. STORE_NOT_FOUND, STORE_PURGED and STORE_ERASED store nothing. */
struct resend {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    struct str event_id;
    int64_t now_ms;
    /* set of states, bits 1 << state: a callback in another state is not found; 0: any state */
    unsigned only_states;
    const struct object_part *parts; /* as in object_change: written in the same commit */
    size_t part_count;
    enum store_status status;
};

/* Erases one panelist: replaces PanelistId, SessionId and Mid and deletes bodies. Amounts and
 * counters stay. */
struct erase {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    struct str panelist_id;
    const struct object_part *parts; /* as in object_change: written in the same commit */
    size_t part_count;
    enum store_status status;
    int64_t erased; /* events */
};

struct store;

/* These assert the arguments and empty the results. */
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
/* NULL: not shared, this process may deliver every lane */
struct leases *store_leases(struct store *s);
/* Replaces the watcher; NULL: none. When it returns, the one before is not called any more. */
void store_watch(struct store *s, struct store_watcher *watcher);
/* Shared stores only. `answer` is copied; app_no is the one of the question. */
void store_ask(struct store *s, struct store_question *question);
void store_answer(struct store *s, uint32_t app_no, int64_t question, struct str answer);
/* Says which cluster has an account (app_no 0) or one of its apps; called before any other request
 * about it. The cluster never changes. Does nothing where there is one cluster. */
void store_place(struct store *s, uint32_t account_no, uint32_t app_no, uint32_t cluster);
/* Measures the free disk space and looks for the store's files, if the last look was long ago.
 * Whoever runs a store calls it a few times a second, from a thread that serves nobody: it blocks
 * while the disk does. */
void store_look(struct store *s);
/* Why events are refused now. Any thread; cheap enough to ask for every request. */
enum store_refusal store_get_refusal(struct store *s);
/* Any thread; does not block. */
void store_get_numbers(struct store *s, struct store_numbers *ret);
/* As numbers, of some seconds ago, without partners. `ret` has CLUSTERS_MOST places; 0: none. */
size_t store_get_clusters(struct store *s, struct cluster_state *ret);
/* Any thread; does not block. What the new retention makes too old is deleted within seconds. */
void store_set_bounds(struct store *s, const struct store_bounds *bounds);
/* The key of this store's hashes (candidate.key and .content, see event_key). Created once, never
 * changed; owned by the store. Any thread. */
const struct hash_secret *store_hash_secret(struct store *s);
/* Before the first request; blocks. Visits all objects except OBJECT_AUDIT. */
void store_visit_objects(struct store *s, object_visitor visit, void *context);
/* Before the first request; blocks. The array is malloc'ed. */
size_t store_backlog(struct store *s, struct lane_backlog **ret_lanes);
/* Starts serving requests. Pending callbacks from before the start come to the sink or are found by
 * paging. */
void store_start(struct store *s, struct owed_sink *sink);
/* The process is about to end: within seconds long reads end, and what waits for a database that
 * cannot be reached or written is given up; if that has outcomes, the store then fails. Any thread,
 * after the start. */
void store_stopping(struct store *s);
/* Finishes all requests, makes them durable and frees the store. Blocks. */
void store_close(struct store *s);
