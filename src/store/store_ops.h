/* What every implementation of the store has and needs: its operations, the kinds of requests, and
 * the parts of answers that all of them make alike. Callers need store.h only. */
#pragma once

#include "store/store.h"

#include <stdatomic.h>

/* --- operations ------------------------------------------------------------------------------ */

/* Every kind of request: its struct, whether the struct has an account_no (else NONE), and its
 * work. The enum, request_work and what queue.c does by kind are made from this list. */
#define REQUESTS(X)                                                                                \
    X(INTAKE, intake_batch, NONE, CHANGE)                                                          \
    X(OUTCOMES, outcome_batch, NONE, OUTCOMES)                                                     \
    X(OBJECT, object_change, NONE, CHANGE)                                                         \
    X(RESEND, resend, ACCOUNT, CHANGE)                                                             \
    X(ERASE, erase, ACCOUNT, CHANGE)                                                               \
    X(PAGE, due_page, NONE, PAGE)                                                                  \
    X(REPORT, report_query, ACCOUNT, READ)                                                         \
    X(INTRADAY, intraday_query, ACCOUNT, READ)                                                     \
    X(DELIVERY_STATS, delivery_stats_query, ACCOUNT, READ)                                         \
    X(STATEMENT, statement_query, ACCOUNT, SCAN)                                                   \
    X(COUNT, callback_count, ACCOUNT, SCAN)                                                        \
    X(BOOKS, books_check, NONE, BOOKS)                                                             \
    X(WAITING, lane_waiting, ACCOUNT, READ)                                                        \
    X(CALLBACK, callback_get, ACCOUNT, READ)                                                       \
    X(CALLBACKS, callback_list, ACCOUNT, READ)                                                     \
    X(OBJECTS, object_list, ACCOUNT, READ)                                                         \
    X(FEED, object_feed, NONE, FEED) /* shared stores only */

enum request_kind {
#define REQUEST_ENUM(kind, type, account, work) REQUEST_##kind,
    REQUESTS(REQUEST_ENUM)
#undef REQUEST_ENUM
    /* Between the threads of one store. */
    REQUEST_APPLIED, /* from the applier: a memtable is committed, or its commit failed */
    REQUEST_APPLIER_FAILED,
    REQUEST_APPLY,      /* to the applier */
    REQUEST_CHECKPOINT, /* to the applier, and back to the scrub */
    REQUEST_PURGE,      /* to the applier */
    REQUEST_LEAVE,      /* the process is about to end */
    REQUEST_WAKE,       /* ends a wait; there is nothing else to do with it */
    REQUEST_STOP,
};

/* The functions of store.h after their checks: what store.h says of threads, blocking and memory
 * holds for the slots. */
struct store_ops {
    void (*request)(struct store *s, enum request_kind kind, void *what);
    /* Why events are refused. submitted: a batch that is counted in queued_events and queued_bytes
     * already; the bounds apply to the others, because otherwise a request larger than a bound
     * could never be accepted. NULL: any request that comes next.
     * The slot is NULL in a store that hands batches to other stores, which judge them. */
    enum store_refusal (*judge)(struct store *s, const struct intake_batch *submitted);
    /* The next four are NULL in a store that one process has alone. */
    struct leases *(*leases)(struct store *s);
    void (*watch)(struct store *s, struct store_watcher *watcher);
    void (*ask)(struct store *s, struct store_question *question);
    void (*answer)(struct store *s, uint32_t app_no, int64_t question, struct str answer);
    /* NULL: there is one cluster */
    void (*place)(struct store *s, uint32_t account_no, uint32_t app_no, uint32_t cluster);
    enum store_refusal (*refusal)(struct store *s); /* NULL: judge decides, or nothing is refused */
    void (*look)(struct store *s);                  /* NULL: it does not look at a disk */
    void (*numbers)(struct store *s, struct store_numbers *ret);
    size_t (*clusters)(struct store *s, struct cluster_state *ret);         /* NULL: none */
    void (*set_bounds)(struct store *s, const struct store_bounds *bounds); /* NULL: none */
    const struct hash_secret *(*hash_secret)(struct store *s);
    void (*visit_objects)(struct store *s, object_visitor visit, void *context);
    size_t (*backlog)(struct store *s, struct lane_backlog **ret_lanes);
    void (*start)(struct store *s, struct owed_sink *sink);
    void (*stopping)(struct store *s); /* NULL: the store never waits for long */
    void (*close)(struct store *s);
};

#define STORE_MAGIC 0x57013E00u
struct store {
    uint32_t magic;
    const struct store_ops *ops;
    /* Only where ops->judge is set: */
    atomic_llong queued_events, queued_bytes; /* submitted, and not decided yet */
    atomic_llong refused[STORE_REFUSALS];     /* requests */
    atomic_llong waiting_most;                /* callbacks that may wait */
    atomic_bool failed;                       /* the store has ended */
};

/* 0: the default. */
void store_set_waiting_most(struct store *s, int64_t waiting_most);
/* The batch is no longer queued: it is decided, or refused. */
void store_intake_ended(struct store *s, const struct intake_batch *batch);
void store_count_refusal(struct store *s, enum store_refusal refusal); /* of one request */
/* submitted: as in store_ops.judge */
bool store_queue_is_full(const struct store *s, const struct intake_batch *submitted);
/* Ends the store: nothing more is recorded, and the process must end. Any thread. why may be
 * NULL. */
void store_fail(struct store *s, const char *why);

/* --- parts of answers ------------------------------------------------------------------------ */

/* The row borrows the event's texts. */
static inline struct callback_row callback_row_of(const struct event *e,
                                                  const struct callback_life *s)
{
    return (struct callback_row){
        .event = *e,
        .state = s->state,
        .reason = s->reason,
        .next_attempt_ms = s->state == CALLBACK_PENDING ? s->place.due_ms : 0,
        .attempts = s->attempts,
    };
}

/* True if the row's attempts have to be read. */
static inline bool callback_list_wants_attempts(const struct callback_list *list,
                                                const struct callback_row *row)
{
    return list->attempts == ATTEMPTS_ALL ||
           (list->attempts == ATTEMPTS_LAST && row->attempts > 0 &&
            row->state != CALLBACK_DELIVERED);
}

/* Copies the attempts that the list shows into its arena, drops the others. */
void callback_list_keep_log(struct callback_list *list, struct callback_row *row);
/* See after_accepted_ms. accepted_ms: when the event of the number after_event_no was accepted, as
 * known once the rows are listed; 0: there is none. */
bool callback_list_is_foreign(const struct callback_list *list, int64_t accepted_ms);
int attempt_compare(const void *a, const void *b); /* oldest first, for qsort */
/* The state by which a callback is filtered and shown. */
enum callback_state callback_list_state(const struct callback_list *list, uint64_t event_no,
                                        enum callback_state stored);

/* Warns in the log that the clock was put back, before an event received at received_ms is
 * decided. */
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

/* Writes a new PanelistId that no panelist has into `text` and returns it. */
#define ERASED_NAME_BYTES 32
struct str erased_name(struct env *env, char text[ERASED_NAME_BYTES]);
