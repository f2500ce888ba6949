/* The oracle's own data: plain arrays, searched from end to end, but for two shortcuts that the
 * simulator's millions of events need: events by id, and what waits. Everything here is read and
 * changed with the lock held. */
#pragma once

#include "store/books.h"
#include "store/store_ops.h"

#include <pthread.h>

struct entry {
    struct event event; /* texts in the store's arena; as accepted, but for what was erased */
    struct callback_life life; /* memory_set says where it stands from now on */
    struct pending_resend resend;
    bool was_counted_delivered, was_counted_dead;
    struct attempt *log;
    size_t log_count, log_capacity;
};

/* Of a WAIT_DUE: its place in the order of (lane, due time, event number). */
struct waiting {
    lane_no lane;
    int64_t due_ms;
    uint64_t event_no;
    struct entry *entry;
};

struct object {
    enum object_kind kind;
    struct str id, document; /* absent document: deleted */
};

#define MEMORY_STORE_MAGIC 0x3E305703u
struct memory_store {
    struct store store;
    uint32_t magic;
    struct env *env;
    struct owed_sink *sink;
    struct hash_secret secret;
    pthread_mutex_t lock;
    struct arena arena;
    struct entry **entries; /* in commit order */
    size_t count, capacity;
    struct entry **by_id; /* open addressing by (account, event id); a power of two */
    size_t by_id_slots;
    struct waiting *waiting; /* those that are due or will be, sorted */
    size_t waiting_count, waiting_capacity;
    size_t held_count; /* WAIT_HELD */
    struct object *objects;
    size_t object_count, object_capacity;
    int64_t last_accepted_ms; /* of the newest entry */
    int64_t delivered, dead, commits;
    struct books ledger;
    uint64_t resends;
};

/* Keeps everything in plain lists; the oracle of the conformance suite. Runs each request at once
 * on the caller's thread. */
struct store *memory_store_open(struct env *env);

struct memory_store *memory_of(struct store *s);
struct entry *memory_find(struct memory_store *m, uint32_t account_no, struct str event_id);
struct entry *memory_find_no(struct memory_store *m, uint32_t account_no, uint64_t event_no);
void memory_index(struct memory_store *m, struct entry *e); /* the last of `entries`, new */
/* Where its callback stands from now on: in the lanes, the ledger and the totals, too. */
void memory_set(struct memory_store *m, struct entry *e, const struct callback_life *life);
/* The first in `waiting` that is not before that. */
size_t memory_waiting_from(const struct memory_store *m, lane_no lane, int64_t due_ms,
                           uint64_t event_no);
/* The ledger's part of memory_set. */
void memory_moved(struct memory_store *m, const struct entry *e, enum callback_state from);
/* The caller's. */
struct callback *memory_callback(const struct entry *e);

/* The slots that only read (read.c). */
void memory_page(struct store *s, struct due_page *page);
void memory_list_objects(struct store *s, struct object_list *list);
void memory_report(struct store *s, struct report_query *query);
void memory_intraday(struct store *s, struct intraday_query *query);             /* intraday.c */
void memory_delivery_stats(struct store *s, struct delivery_stats_query *query); /* read.c */
void memory_statement(struct store *s, struct statement_query *query);           /* statement.c */
void memory_count_callbacks(struct store *s, struct callback_count *count);      /* statement.c */
void memory_check_books(struct store *s, struct books_check *check);             /* books.c */
void memory_lane_waiting(struct store *s, struct lane_waiting *waiting);         /* books.c */
void memory_get_callback(struct store *s, struct callback_get *get);
void memory_list_callbacks(struct store *s, struct callback_list *list);
void memory_numbers(struct store *s, struct store_numbers *ret);
size_t memory_backlog(struct store *s, struct lane_backlog **ret_lanes);
