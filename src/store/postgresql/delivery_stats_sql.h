/* Counts of attempts by endpoint (store/delivery_stats.h) in PostgreSQL. */
#pragma once

#include "store/postgresql/postgresql_store.h"

/* Adds attempts, 15 columns in the table's order, and counts those of them that were not there:
 * what is done twice, behind a commit in doubt, is counted once. Rows that other nodes may want are
 * locked in the order of their key, before those of changes.h. */
extern const char pg_add_attempts[];

/* Merges what has become old into longer slots, deletes the oldest; `now_ms` by the retention
 * clock. */
MUST_CHECK enum pg_fate pg_merge_delivery_stats(struct pg *pg, int64_t now_ms);
