/* Inserts many rows with one statement. `feed` is a virtual table over an array of the applier's,
 * so that
 *
 *     INSERT OR FAIL INTO key_7 SELECT c0,c1,c2,c3,c4 FROM feed
 *
 * opens its cursors once and continues from the last row's place, instead of starting a statement
 * for each row: that saves half of the applier's instructions per event
 * (docs/decisions/hot-path.md). OR FAIL, because any failure rolls back the whole transaction:
 * SQLite then needs no statement journal. */
#pragma once

#include "store/sqlite/sql.h"

typedef void (*feed_column)(const void *context, size_t row, int column, sqlite3_context *to);

struct feed {
    const void *context;
    feed_column column; /* returns one value by feed_int, feed_str or feed_blob */
    size_t count;
};

/* Makes the table on a connection; *feed must keep its address until the connection is closed. */
void feed_register(struct sql *q, struct feed *feed);

/* Runs an INSERT ... SELECT over `count` rows. The values must stay valid until it returns. */
void feed_run(struct sql *q, sqlite3_stmt *s, struct feed *feed, size_t count, feed_column column,
              const void *context);

/* Sets the rows for a SELECT that the caller steps through; count 0: none. */
void feed_set(struct feed *feed, size_t count, feed_column column, const void *context);

static inline void feed_int(sqlite3_context *to, int64_t value)
{
    sqlite3_result_int64(to, value);
}
void feed_str(sqlite3_context *to, struct str text); /* absent: NULL */
void feed_blob(sqlite3_context *to, struct str bytes);
