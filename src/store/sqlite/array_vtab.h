/* Inserts many rows with one statement. `input` is a virtual table over an array of the applier's,
 * so that
 *
 *     INSERT OR FAIL INTO key_7 SELECT c0,c1,c2,c3,c4 FROM input
 *
 * opens its cursors once and continues from the last row's place, instead of starting a statement
 * for each row: that saves half of the applier's instructions per event
 * (docs/decisions/hot-path.md). OR FAIL, because any failure rolls back the whole transaction:
 * SQLite then needs no statement journal. */
#pragma once

#include "store/sqlite/sql.h"

typedef void (*array_vtab_column)(const void *context, size_t row, int column, sqlite3_context *to);

struct array_vtab {
    const void *context;
    array_vtab_column column; /* returns a value by array_vtab_int, _str or _blob */
    size_t count;
};

/* Makes the table on a connection; *input must keep its address until the connection is closed. */
void array_vtab_register(struct sql *q, struct array_vtab *input);

/* Runs an INSERT ... SELECT over `count` rows. The values must stay valid until it returns. */
void array_vtab_run(struct sql *q, sqlite3_stmt *s, struct array_vtab *input, size_t count,
                    array_vtab_column column, const void *context);

/* Sets the rows for a SELECT that the caller steps through; count 0: none. */
void array_vtab_set(struct array_vtab *input, size_t count, array_vtab_column column,
                    const void *context);

static inline void array_vtab_int(sqlite3_context *to, int64_t value)
{
    sqlite3_result_int64(to, value);
}
void array_vtab_str(sqlite3_context *to, struct str text); /* absent: NULL */
void array_vtab_blob(sqlite3_context *to, struct str bytes);
