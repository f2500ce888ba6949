/* Applies whole memtables to SQLite: one transaction each, which writes every B-tree in key order
 * and stores the journal's position, so that a replay applies each group exactly once. Used by the
 * applier thread, by recovery and by the backup.
 *
 * Each step has a header, with its private state: its statements, and what it collects before they
 * run. */
#pragma once

#include "store/books.h"
#include "store/delivery_stats.h"
#include "store/sqlite/apply_attempts.h"
#include "store/sqlite/apply_due.h"
#include "store/sqlite/apply_erase.h"
#include "store/sqlite/apply_final_late.h"
#include "store/sqlite/apply_intraday.h"
#include "store/sqlite/apply_older.h"
#include "store/sqlite/apply_reports.h"
#include "store/sqlite/apply_search.h"
#include "store/sqlite/apply_waiting_counts.h"
#include "store/sqlite/array_vtab.h"
#include "store/sqlite/body_block.h"

/* Stored in the meta table, so that the store's numbers survive a restart. */
struct apply_counters {
    int64_t accepted, delivered, dead, pending;
    int64_t latest_accepted_ms; /* the latest of all times of acceptance */
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

/* A buffer for `count` elements of `size` bytes, valid until the next call. */
void *apply_order(struct apply *a, size_t count, size_t size);
/* `counted`: the new COUNTED_ bits. */
void apply_count(struct apply *a, enum callback_state before, enum callback_state after,
                 unsigned counted);
