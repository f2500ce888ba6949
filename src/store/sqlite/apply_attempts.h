/* A step of apply_memtable: attempts. */
#pragma once

#include "store/sqlite/attempt_block.h"
#include "store/sqlite/sql.h"

struct apply;

struct apply_attempt_rows { /* for one day's table */
    int64_t day;
    sqlite3_stmt *add;
    struct attempt_chunk *chunk;
};

void apply_attempts(struct apply *a);
