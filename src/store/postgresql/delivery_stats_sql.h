/* Counts of attempts by endpoint (store/delivery_stats.h) in PostgreSQL. */
#pragma once

#include "store/postgresql/postgresql_store.h"

/* Adds attempts, 15 columns in the table's order, and counts only the new ones, so that a group
 * that is repeated after a commit in doubt counts once. Rows are locked in the order of their keys,
 * before those of row_changes.h. */
extern const char pg_add_attempts[];

/* Merges old slots into longer ones and deletes the oldest; `now_ms` is of the retention clock. */
MUST_CHECK enum pg_fate pg_merge_delivery_stats(struct pg *pg, int64_t now_ms);
