/* Finds the event numbers of an account that were accepted in a time.
 *
 * Times of acceptance grow with the numbers (domain/acceptance_times.h), except where a clock was
 * put back: the table accepted_back has the first event of each stretch that begins earlier than
 * the event before it. There is rarely more than one stretch; within a stretch the search is
 * binary. */
#pragma once

#include "store/sqlite/apply.h"
#include "store/sqlite/ids.h"
#include "store/sqlite/sql.h"

struct range {
    uint64_t first, last; /* ids, inclusive; empty when first > last */
};

/* The range has all events of the account accepted from from_ms to before to_ms. After a clock was
 * put back it may have others too, so the caller checks each row's time. */
struct range accepted_between(struct sql *q, uint32_t account_no, int64_t from_ms, int64_t to_ms);
struct range accepted_on(struct sql *q, uint32_t account_no, int32_t day);

/* A step of apply_memtable, after apply_rows: records where the memtable's events begin a
 * stretch. */
void apply_accepted(struct apply *a);
