/* The attempts of a chunk of events in SQLite: whole blocks are read, of all days there are. */
#pragma once

#include "store/copy/records.h"
#include "store/sqlite/sql.h"

struct sqlite_log {
    sqlite3_stmt **days; /* find a block of that day */
    size_t count, capacity;
    struct attempt *found; /* of one block */
    uint64_t *found_ids;
    size_t found_count, found_capacity, id_capacity;
};

void sqlite_log_open(struct sqlite_log *l, struct sql *q);
void sqlite_log_free(struct sqlite_log *l); /* the statements are the connection's */
/* Fills in the logs of the chunk's events, which are in runs of one account by number. */
void sqlite_log_read(struct sqlite_log *l, struct sql *q, struct copy_chunk *c);
