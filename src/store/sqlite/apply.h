/* Writing whole memtables to SQLite: one transaction each, every tree in its own order, with the
 * journal's position in the same transaction, so that replaying is exactly once. Used by the
 * applier thread, by recovery and by the backup. */
#pragma once

#include "base/sort.h"
#include "store/books.h"
#include "store/delivery_stats.h"
#include "store/sqlite/attempt_block.h"
#include "store/sqlite/feed.h"
#include "store/sqlite/memtable.h"
#include "store/sqlite/sql.h"

/* Kept in the meta table; how the store's numbers survive a restart. */
struct apply_counters {
    int64_t accepted, delivered, dead, pending;
    int64_t latest_accepted_ms; /* of all times of acceptance, the latest */
};

struct apply_due {
    lane_no lane;
    int64_t due_ms;
    uint64_t id;
};

struct apply_dues {
    struct apply_due *items;
    size_t count, capacity;
};

/* An entry of the memtable, in the order of ids. */
struct apply_row {
    uint64_t id;
    const struct mem_entry *entry;
    const struct event *event; /* NULL: the event is older */
    bool is_plain, has_body;   /* of a new one */
};

struct apply_waits {
    uint32_t segment;
    int64_t accepted_ms;
    int by;
};

/* What each step has of its own: its statements, and what it gathers before they run. */

struct apply_due_rows { /* apply_due.c */
    sqlite3_stmt *add, *drop, *drop_range, *pass;
    struct apply_dues coming, leaving;
    const struct apply_due *done; /* those that drop_range means, in the order of the table */
    size_t done_count;
};

#define OLDER_AT_ONCE 128

struct apply_older_rows { /* apply_older.c */
    sqlite3_stmt *find, *set, *set_delivered;
    uint64_t delivered[OLDER_AT_ONCE]; /* those that set_delivered means, in order */
    size_t delivered_count;
};

struct apply_waiting_rows { /* apply_waiting.c: how many more wait than before, in parts */
    sqlite3_stmt *add, *drop;
    struct apply_waits *items;
    size_t count, capacity;
};

struct apply_search_rows { /* apply_search.c: what becomes of its sets, in order */
    sqlite3_stmt *find, *set, *drop;
    struct sort_item *items;
    size_t count, capacity;
};

struct apply_active_rows { /* apply_reports.c: the statements are of one day's table */
    int64_t day;
    sqlite3_stmt *any, *find, *add, *update;
    struct idmap touched; /* days since the last purge, by apply_day_key */
};

struct apply_intraday { /* what is yet to be added to the slots of one account's day */
    sqlite3_stmt *add;
    int32_t day;
    uint32_t account_no; /* 0: nothing */
    struct intraday_slot slots[INTRADAY_SLOTS];
};

struct apply_attempt_rows { /* of one day's table */
    int64_t day;
    sqlite3_stmt *add;
    struct attempt_chunk *chunk;
};

struct apply_erasing { /* apply_erase.c */
    sqlite3_stmt *find;
    uint64_t *late; /* callbacks erased earlier that this memtable has an outcome of */
    size_t late_count, late_capacity;
    int64_t erased;
};

struct apply {
    struct sql sql;
    struct feed feed;
    struct hash_secret secret;
    uint64_t generation; /* of the memtable applied last */
    struct memtable *m;  /* of the transaction under way */
    struct apply_counters counters;
    struct {
        uint32_t no;
        int64_t keys, first_accepted_ms;
        sqlite3_stmt *add_body;
    } segment; /* the open one; 0: none yet */
    struct {
        sqlite3_stmt *add, *add_plain, *add_reversal, *add_cap;
    } rows;
    struct {
        sqlite3_stmt *find, *set;
    } reports;
    struct {
        sqlite3_stmt *set, *drop;
    } objects;
    struct {
        sqlite3_stmt *add;
        struct books books; /* what the transaction adds */
    } ledger;
    struct {
        sqlite3_stmt *add;
        struct delivery_stats_rows rows; /* what the transaction adds */
    } stats;
    struct apply_older_rows older;
    struct apply_due_rows due;
    struct apply_waiting_rows waiting;
    struct apply_search_rows search;
    struct apply_active_rows active;
    struct apply_intraday intraday;
    struct apply_attempt_rows attempt;
    struct apply_erasing erasing;
    /* Room that is kept from one memtable to the next. */
    struct key128 *panelists; /* by event */
    void *order;              /* what is being sorted */
    size_t panelist_capacity, order_capacity;
    struct buf bodies; /* a block of them */
    /* Called before each commit, inside the transaction; NULL: nobody. */
    void (*ending)(struct apply *a, void *context);
    void *ending_context;
};

/* a->sql is open and migrated; reads where the store stands. */
void apply_open(struct apply *a);
void apply_close(struct apply *a);

/* True: committed, and m->segment is set. False: nothing of it is stored; apply_passing() says
 * whether to try again. */
MUST_CHECK bool apply_memtable(struct apply *a, struct memtable *m);
/* Whether the failure may pass by itself: a full disk, a lock held by a sqlite3 shell. */
bool apply_passing(const struct apply *a);

/* After such a failure: forgets it, and what the rolled-back transaction had begun. */
void apply_recover(struct apply *a);
/* Statements on tables that come and go are made again when needed. */
void apply_drop_cached(struct apply *a);

/* Steps of apply_memtable. */
void apply_keys(struct apply *a); /* apply_keys.c: segments, keys, bodies, panelists */
void apply_rows(struct apply *a); /* apply_rows.c: event rows and states, due */
/* apply_older.c: states of older rows, in the order of ids */
void apply_older_prepare(struct apply *a);
void apply_older(struct apply *a, const struct apply_row *rows, size_t count);
/* apply_due.c: what comes into the lanes and what leaves them, gathered and then written. */
void apply_due_prepare(struct apply *a);
void apply_queue_due(struct apply *a, lane_no lane, int64_t due_ms, uint64_t id);
void apply_queue_done(struct apply *a, lane_no lane, int64_t due_ms, uint64_t id);
void apply_due(struct apply *a);
void apply_reports(struct apply *a); /* apply_reports.c: report rows and active panelists */
/* apply_intraday.c: slots of the day that is open, until another one is or they are ended. */
void apply_intraday_open(struct apply *a, uint32_t account_no, int32_t day);
void apply_intraday_event(struct apply *a, const struct event *e);
void apply_intraday_active(struct apply *a, int slot, int64_t count);
void apply_intraday_end(struct apply *a);
void apply_attempts(struct apply *a); /* apply_attempts.c */
/* apply_stats.c */
sqlite3_stmt *apply_delivery_stats_prepare(struct sql *q);
void apply_delivery_stats(struct apply *a);
void apply_objects(struct apply *a); /* apply_objects.c */
void apply_erases(struct apply *a);  /* apply_erase.c: and what comes behind earlier ones */
void apply_books(struct apply *a);   /* apply_books.c: after all that moves callbacks */
void apply_waiting(struct apply *a); /* apply_waiting.c: the same */
/* apply_search.c: the same */
void apply_search_prepare(struct apply *a);
void apply_search(struct apply *a);

/* Report days are before 1970, too; keys of an idmap are above 0. */
static inline uint64_t apply_day_key(int64_t day)
{
    return (uint64_t)(day + INT32_MAX);
}

/* Room for `count` elements of `size` bytes, until the next call. */
void *apply_order(struct apply *a, size_t count, size_t size);
/* `counted`: the COUNTED_ bits that are new. */
void apply_count(struct apply *a, enum callback_state before, enum callback_state after,
                 unsigned counted);
/* So many more wait of those that were accepted then and lie in this segment. */
void apply_waits(struct apply *a, uint32_t segment, int64_t accepted_ms, int by);
/* When the oldest one that waits was accepted; `otherwise`: none does. */
int64_t apply_waiting_oldest_ms(struct apply *a, int64_t otherwise);
/* Adds the sums to their row, by a statement of books_prepare. */
sqlite3_stmt *books_prepare(struct sql *q);
void books_add_sums(struct sql *q, sqlite3_stmt *s, const struct book_key *key, int state,
                    const struct statement_sums *sums);
/* Between transactions: merges counts of attempts that have become old, deletes the oldest ones.
 * `now_ms`: by the retention clock. */
void apply_delivery_stats_merge(struct apply *a, int64_t now_ms);
/* The first slot that the step has rows of; any connection. */
int64_t delivery_stats_first_slot(struct sql *q, int step, int64_t otherwise);
/* The search finds it in its new state; before is CALLBACK_NONE: for the first time. */
void apply_search_move(struct apply *a, uint64_t id, uint32_t app_no, enum event_type type,
                       enum callback_state before, enum callback_state after);

/* A callback that is in the tables, as far as more than its own row tells of its state. */
struct apply_callback {
    uint64_t id;
    struct book_key key;
    enum event_type type;
    int64_t reward_micros, revenue_micros, accepted_ms;
    uint32_t segment; /* 0: erased */
    unsigned counted; /* COUNTED_ bits */
};
/* Of the row of STATUS_COLUMNS that the statement stands at. */
struct apply_callback apply_callback_read(sqlite3_stmt *s, uint64_t id);
/* apply_moves.c: it goes from one state to another. `counted`: the bits of all states that it has
 * had in this memtable. */
void apply_moved(struct apply *a, const struct apply_callback *c, enum callback_state before,
                 enum callback_state after, unsigned counted);
