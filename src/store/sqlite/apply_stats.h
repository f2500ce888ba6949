/* A step of apply_memtable: counts of attempts. */
#pragma once

#include "store/sqlite/sql.h"

struct apply;

sqlite3_stmt *apply_delivery_stats_prepare(struct sql *q);
void apply_delivery_stats(struct apply *a);
/* Runs between transactions: merges old counts of attempts and deletes the oldest ones. `now_ms`:
 * by the retention clock. */
void apply_delivery_stats_merge(struct apply *a, int64_t now_ms);
/* The first slot of a step that has rows; on any connection. */
int64_t delivery_stats_first_slot(struct sql *q, int step, int64_t otherwise);
