/* A step of apply_memtable: erasures, and late outcomes of erased callbacks. */
#pragma once

#include "store/sqlite/sql.h"

struct apply;

struct apply_erasing {
    sqlite3_stmt *find;
    uint64_t *late; /* erased callbacks that this memtable has an outcome of */
    size_t late_count, late_capacity;
    int64_t erased;
};

void apply_erases(struct apply *a);
