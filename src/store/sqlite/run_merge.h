/* Merges the runs of one segment, so that a look-up has few runs to search. Closed segments are
 * merged with each other in bundle.h.
 *
 * While a segment is open, 16 runs of about the same size are merged into one run of the next size,
 * so that each record is rewritten only a few times. Runs whose merge would have more than half a
 * segment wait until the segment is closed. Closing merges all runs into one. */
#pragma once

#include "store/sqlite/sql.h"

/* How many runs of one size are merged; a size covers counts of events within this factor. */
#define RUN_MERGE_COUNT 16

/* The number for the segment's next run, from 1. */
uint32_t run_next(struct sql *q, uint32_t segment);

/* After a run was added, in the same transaction. */
void run_merge_some(struct sql *q, uint32_t segment);
void run_merge_all(struct sql *q, uint32_t segment);
