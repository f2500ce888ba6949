/* Applies whole memtables to SQLite: one transaction each, which writes every B-tree in key order
 * and stores the journal's position, so that a replay applies each group exactly once. Used by the
 * applier thread, by recovery and by the backup. */
#pragma once

#include "base/sort.h"
#include "store/books.h"
#include "store/delivery_stats.h"
#include "store/sqlite/array_vtab.h"
#include "store/sqlite/attempt_block.h"
#include "store/sqlite/body_block.h"
#include "store/sqlite/memtable.h"
#include "store/sqlite/sql.h"

/* Stored in the meta table, so that the store's numbers survive a restart. */
struct apply_counters {
    int64_t accepted, delivered, dead, pending;
    int64_t latest_accepted_ms; /* the latest of all times of acceptance */
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

/* An entry of the memtable, ordered by id. */
struct apply_row {
    uint64_t id;
    const struct mem_entry *entry;
    const struct event *event; /* NULL: an earlier event */
    bool is_plain, has_body;   /* for new events */
};

struct apply_waits {
    uint32_t segment;
    int64_t accepted_ms;
    int by;
};

/* The private state of each step: its statements, and what it collects before they run. */

struct apply_due_rows { /* apply_due.c */
    sqlite3_stmt *add, *drop, *drop_range, *pass;
    struct apply_dues coming, leaving;
    const struct apply_due *done; /* the rows that drop_range deletes, in the table's order */
    size_t done_count;
};

#define OLDER_AT_ONCE 128

struct apply_older_rows { /* apply_older.c */
    sqlite3_stmt *find, *set, *set_delivered;
    uint64_t delivered[OLDER_AT_ONCE]; /* the ids that set_delivered changes, ascending */
    size_t delivered_count;
};

struct apply_waiting_rows { /* apply_waiting_counts.c: changes of the number of waiting callbacks */
    sqlite3_stmt *add, *drop;
    struct apply_waits *items;
    size_t count, capacity;
};

struct apply_final_late {
    uint32_t segment;
    int32_t final_day;
};

struct apply_final_late_rows { /* apply_final_late.c: one for each segment */
    sqlite3_stmt *add;
    struct apply_final_late *items;
    size_t count, capacity;
};

struct apply_search_rows { /* apply_search.c: changes of its sets, in order */
    sqlite3_stmt *find, *set, *drop;
    struct sort_item *items;
    size_t count, capacity;
};

struct apply_active_rows { /* apply_reports.c: the statements are for one day's table */
    int64_t day;
    sqlite3_stmt *any, *find, *add, *update;
    struct idmap touched; /* days written since the last purge, by apply_day_key */
};

struct apply_intraday { /* sums to add to the slots of one account's day */
    sqlite3_stmt *add;
    int32_t day;
    uint32_t account_no; /* 0: none */
    struct intraday_slot slots[INTRADAY_SLOTS];
    int64_t whole_from_day; /* events of the days before were left out; 0: of none */
};

struct apply_attempt_rows { /* for one day's table */
    int64_t day;
    sqlite3_stmt *add;
    struct attempt_chunk *chunk;
};

struct apply_erasing { /* apply_erase.c */
    sqlite3_stmt *find;
    uint64_t *late; /* erased callbacks that this memtable has an outcome of */
    size_t late_count, late_capacity;
    int64_t erased;
};

struct apply {
    struct sql sql;
    struct array_vtab input;
    struct hash_secret secret;
    uint64_t generation; /* of the last memtable applied */
    struct memtable *m;  /* of the open transaction */
    int64_t now_ms; /* wall clock, set by the caller: when callbacks become final; 0: unknown */
    struct apply_counters counters;
    struct {
        uint32_t no;
        int64_t keys, first_accepted_ms;
        sqlite3_stmt *add_body;
    } segment; /* the open segment; 0: none yet */
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
        struct books books; /* sums that the transaction adds */
    } ledger;
    struct {
        sqlite3_stmt *add;
        struct delivery_stats_rows rows; /* counts that the transaction adds */
    } stats;
    struct apply_older_rows older;
    struct apply_due_rows due;
    struct apply_waiting_rows waiting;
    struct apply_final_late_rows final_late;
    struct apply_search_rows search;
    struct apply_active_rows active;
    struct apply_intraday intraday;
    struct apply_attempt_rows attempt;
    struct apply_erasing erasing;
    /* Buffers that are kept from one memtable to the next. */
    struct key128 *panelists; /* for each event */
    void *order;              /* elements being sorted */
    size_t panelist_capacity, order_capacity;
    struct body_packer bodies;
    /* Called inside the transaction before each commit; may be NULL. */
    void (*ending)(struct apply *a, void *context);
    void *ending_context;
};

/* a->sql is open and migrated. Loads the counters and the open segment. */
void apply_open(struct apply *a);
void apply_close(struct apply *a);

/* True: committed, and m->segment is set. False: nothing is stored; apply_passing() tells whether
 * to try again. */
MUST_CHECK bool apply_memtable(struct apply *a, struct memtable *m);
/* True if the failure may pass by itself: a full disk, a lock held by a sqlite3 shell. */
bool apply_passing(const struct apply *a);

/* Forgets such a failure and the state of the rolled-back transaction. */
void apply_recover(struct apply *a);
/* Drops the statements on tables that come and go; they are prepared again when needed. */
void apply_drop_cached(struct apply *a);

/* Steps of apply_memtable. */
void apply_keys(struct apply *a); /* apply_keys.c: segments, keys, bodies, panelists */
void apply_rows(struct apply *a); /* apply_rows.c: event rows, states, due */
/* apply_older.c: states of older rows, in the order of ids */
void apply_older_prepare(struct apply *a);
void apply_older(struct apply *a, const struct apply_row *rows, size_t count);
/* apply_due.c: callbacks that come into lanes or leave them: collected, then written. */
void apply_due_prepare(struct apply *a);
void apply_queue_due(struct apply *a, lane_no lane, int64_t due_ms, uint64_t id);
void apply_queue_done(struct apply *a, lane_no lane, int64_t due_ms, uint64_t id);
void apply_due(struct apply *a);
void apply_reports(struct apply *a); /* apply_reports.c: report rows and active panelists */
/* apply_intraday.c: adds to the slots of one open day; opening another day or ending writes
 * them. At last, the days of which events were left out are noted. */
void apply_intraday_open(struct apply *a, uint32_t account_no, int32_t day);
void apply_intraday_event(struct apply *a, const struct event *e);
void apply_intraday_active(struct apply *a, int slot, int64_t count);
void apply_intraday_end(struct apply *a);
void apply_intraday_left_out(struct apply *a);
void apply_attempts(struct apply *a); /* apply_attempts.c */
/* apply_stats.c */
sqlite3_stmt *apply_delivery_stats_prepare(struct sql *q);
void apply_delivery_stats(struct apply *a);
void apply_objects(struct apply *a); /* apply_objects.c */
/* apply_erase.c: erasures, and late outcomes of erased callbacks */
void apply_erases(struct apply *a);
void apply_books(struct apply *a);          /* apply_books.c: after all steps that move callbacks */
void apply_waiting_counts(struct apply *a); /* apply_waiting_counts.c: the same */
void apply_write_final_late(struct apply *a); /* apply_final_late.c: the same */
/* apply_search.c: the same */
void apply_search_prepare(struct apply *a);
void apply_search(struct apply *a);

/* idmap keys must be above 0, but report days may be before 1970. */
static inline uint64_t apply_day_key(int64_t day)
{
    return (uint64_t)(day + INT32_MAX);
}

/* A buffer for `count` elements of `size` bytes, valid until the next call. */
void *apply_order(struct apply *a, size_t count, size_t size);
/* `counted`: the new COUNTED_ bits. */
void apply_count(struct apply *a, enum callback_state before, enum callback_state after,
                 unsigned counted);
/* Adds to the number of waiting callbacks with this segment and time of acceptance. */
void apply_waits(struct apply *a, uint32_t segment, int64_t accepted_ms, int by);
/* A callback of the segment became final late on that day (domain/retention.h). */
void apply_note_final_late(struct apply *a, uint32_t segment, int32_t final_day);
/* When the oldest waiting callback was accepted; `otherwise` if none waits. */
int64_t apply_waiting_oldest_ms(struct apply *a, int64_t otherwise);
/* Adds the sums to their row, with a statement of books_prepare. */
sqlite3_stmt *books_prepare(struct sql *q);
void books_add_sums(struct sql *q, sqlite3_stmt *s, const struct book_key *key, int state,
                    const struct statement_sums *sums);
/* Runs between transactions: merges old counts of attempts and deletes the oldest ones. `now_ms`:
 * by the retention clock. */
void apply_delivery_stats_merge(struct apply *a, int64_t now_ms);
/* The first slot of a step that has rows; on any connection. */
int64_t delivery_stats_first_slot(struct sql *q, int step, int64_t otherwise);
/* Moves a callback in the sets of the search; before is CALLBACK_NONE for a new one. */
void apply_search_move(struct apply *a, uint64_t id, uint32_t app_no, enum event_type type,
                       enum callback_state before, enum callback_state after);

/* The parts of a stored callback that other tables depend on. */
struct apply_callback {
    uint64_t id;
    struct book_key key;
    enum event_type type;
    int64_t reward_micros, revenue_micros, accepted_ms;
    uint32_t segment; /* 0: erased */
    unsigned counted; /* COUNTED_ bits */
};
/* Read from the current row of a statement over STATUS_COLUMNS. */
struct apply_callback apply_callback_read(sqlite3_stmt *s, uint64_t id);
/* apply_moves.c: a callback changes its state. `counted`: the bits of all states that it has had in
 * this memtable. */
void apply_moved(struct apply *a, const struct apply_callback *c, enum callback_state before,
                 enum callback_state after, unsigned counted);
