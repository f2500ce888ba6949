/* Many rows into one table with one statement. `feed` is a virtual table whose rows are whatever
 * array the applier points it at, so that
 *
 *     INSERT OR FAIL INTO key_7 SELECT c0,c1,c2,c3,c4 FROM feed
 *
 * opens its cursors once and goes on from where the last row went in, instead of beginning anew
 * for each row: half of the applier's instructions per event (docs/decisions/hot-path.md).
 * OR FAIL, since the whole transaction is rolled back after any failure: SQLite then keeps no
 * second copy of pages for undoing the statement alone. */
#pragma once

#include "store/sqlite/sql.h"

typedef void (*feed_column)(const void *context, size_t row, int column, sqlite3_context *to);

struct feed {
    const void *context;
    feed_column column; /* tells one value by feed_int, feed_str or feed_blob */
    size_t count;
};

/* Makes the table on a connection; *feed must stay where it is until that is closed. */
void feed_register(struct sql *q, struct feed *feed);

/* Runs an INSERT ... SELECT over `count` rows. What the values point at stays valid until then. */
void feed_run(struct sql *q, sqlite3_stmt *s, struct feed *feed, size_t count, feed_column column,
              const void *context);

/* The rows for a SELECT that the caller steps through, until they are set anew; none: count 0. */
void feed_set(struct feed *feed, size_t count, feed_column column, const void *context);

static inline void feed_int(sqlite3_context *to, int64_t value)
{
    sqlite3_result_int64(to, value);
}
void feed_str(sqlite3_context *to, struct str text); /* absent: NULL */
void feed_blob(sqlite3_context *to, struct str bytes);
