/* The attempts of a chunk of events in SQLite: reads whole blocks of every day. */
#pragma once

#include "store/copy/copy_records.h"
#include "store/sqlite/sql.h"

struct sqlite_log {
    sqlite3_stmt **days; /* each finds a block of one day */
    size_t count, capacity;
    struct attempt *found; /* in one block */
    uint64_t *found_ids;
    size_t found_count, found_capacity, id_capacity;
};

void sqlite_log_open(struct sqlite_log *l, struct sql *q);
void sqlite_log_free(struct sqlite_log *l); /* the connection owns the statements */
/* Fills in the attempts of the chunk's events, which are in runs of one account by number. */
void sqlite_log_read(struct sqlite_log *l, struct sql *q, struct copy_chunk *c);
