/* A step of apply_memtable: states of older rows, in the order of ids. */
#pragma once

#include "store/sqlite/apply_rows.h"
#include "store/sqlite/sql.h"

struct apply;

#define OLDER_AT_ONCE 128

struct apply_older_rows {
    sqlite3_stmt *find, *set, *set_delivered;
    uint64_t delivered[OLDER_AT_ONCE]; /* the ids that set_delivered changes, ascending */
    size_t delivered_count;
};

void apply_older_prepare(struct apply *a);
void apply_older(struct apply *a, const struct apply_row *rows, size_t count);
