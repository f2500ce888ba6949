/* Counts of attempts by endpoint (store/delivery_stats.h) in PostgreSQL. */
#pragma once

#include "store/postgresql/postgresql_store.h"

/* Adds attempts, columns in the table's order (pg_attempt_put), and counts only the new ones, so
 * that a group that is repeated after a commit in doubt counts once. Rows are locked in the order
 * of their keys, before those of row_changes.h. */
extern const char pg_add_attempts[];
/* The same for attempts that are new for sure: cheaper, and a repeated one is an error. */
extern const char pg_add_new_attempts[];

/* Merges old slots into longer ones and deletes the oldest; `now_ms` is of the retention clock. */
MUST_CHECK enum pg_fate pg_merge_delivery_stats(struct pg *pg, int64_t now_ms);
