/* Where in an account's event numbers a time of acceptance lies.
 *
 * The times go on along the numbers (domain/acceptance.h) but where a clock was put back: the table
 * accepted_back has the first event of each stretch that begins earlier than the one before it.
 * There is hardly ever more than one stretch; within each a time is found by halving. */
#pragma once

#include "store/sqlite/apply.h"
#include "store/sqlite/ids.h"
#include "store/sqlite/sql.h"

struct range {
    uint64_t first, last; /* ids, inclusive; empty when first > last */
};

/* All events of the account accepted from from_ms to before to_ms are in the range. Others are too
 * where a clock was put back, so the row's own time decides. */
struct range accepted_between(struct sql *q, uint32_t account_no, int64_t from_ms, int64_t to_ms);
struct range accepted_on(struct sql *q, uint32_t account_no, int32_t day);

/* A step of apply_memtable, behind apply_rows: notes where the memtable's events begin a stretch.
 */
void apply_accepted(struct apply *a);
