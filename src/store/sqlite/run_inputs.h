/* Reads several runs as one sorted sequence of records. It reads block by block, so it needs memory
 * for only one block of each run. A failure is the connection's sticky failure (sql.h). */
#pragma once

#include "store/sqlite/run.h"

/* The records whose major is within. */
struct run_bounds {
    uint64_t first, last;
};
#define RUN_EVERYTHING ((struct run_bounds){0, UINT64_MAX})

struct run_input {
    sqlite3_stmt *read, *take;
    int64_t next_id, end_id; /* of the remaining blocks */
    struct buf block;
    size_t at; /* offset of the current record, in bytes */
};

struct run_inputs {
    struct sql *q;
    enum run_kind kind;
    struct run_bounds bounds;
    bool takes;
    struct run_input *items;
    size_t count, capacity;
    size_t open; /* the first of them, which have a record, are a heap */
    bool begun;
};

/* `takes`: a block is deleted when it has been read, so that its page is free for what is written
 * meanwhile, and neither the file nor the transaction grows much. Only for RUN_EVERYTHING. */
void run_inputs_begin(struct run_inputs *in, struct sql *q, enum run_kind kind,
                      struct run_bounds bounds, bool takes);
/* All runs are added before the first record is read. */
void run_inputs_add(struct run_inputs *in, uint32_t set, uint32_t run);
/* The next record, valid until the next call; NULL: there are no more. */
const void *run_inputs_next(struct run_inputs *in);
void run_inputs_end(struct run_inputs *in);
