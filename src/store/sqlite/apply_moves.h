/* Callbacks that change their states. */
#pragma once

#include "store/books.h"
#include "store/sqlite/sql.h"

struct apply;

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
/* A callback changes its state. `counted`: the bits of all states that it has had in this
 * memtable. */
void apply_moved(struct apply *a, const struct apply_callback *c, enum callback_state before,
                 enum callback_state after, unsigned counted);
