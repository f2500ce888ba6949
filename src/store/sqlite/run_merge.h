/* Merging runs, so that a look-up has few to look into. While a segment is open, 16 of about one
 * size become one of the next, so that a record is written again a few times at most. What would
 * be more than half a segment waits for its closing: then all runs become one. */
#pragma once

#include "store/sqlite/sql.h"

/* So many of one size are merged; the largest of a size has less than so many times as many events
 * as the least. */
#define RUN_MERGE_COUNT 16
/* An open segment never has more runs: fewer than 16 of each of three small sizes, and of the two
 * largest no 16 in a row with less than half a segment. */
#define RUNS_MOST (6 * RUN_MERGE_COUNT)

/* The number of a segment's next run, from 1. */
uint32_t run_next(struct sql *q, uint32_t segment);

/* After a run has been added, in the same transaction. */
void run_merge_some(struct sql *q, uint32_t segment);
void run_merge_all(struct sql *q, uint32_t segment);
