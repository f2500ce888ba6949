/* A step of apply_memtable: collects callbacks that come into lanes or leave them, then writes
 * them. */
#pragma once

#include "domain/callback_life.h"
#include "store/sqlite/sql.h"

struct apply;

struct apply_due {
    lane_no lane;
    int64_t due_ms;
    uint64_t id;
};

struct apply_dues {
    struct apply_due *items;
    size_t count, capacity;
};

struct apply_due_rows {
    sqlite3_stmt *add, *drop, *drop_range, *pass;
    struct apply_dues coming, leaving;
    const struct apply_due *done; /* the rows that drop_range deletes, in the table's order */
    size_t done_count;
};

void apply_due_prepare(struct apply *a);
void apply_queue_due(struct apply *a, lane_no lane, int64_t due_ms, uint64_t id);
void apply_queue_done(struct apply *a, lane_no lane, int64_t due_ms, uint64_t id);
void apply_due(struct apply *a);
