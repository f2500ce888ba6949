/* Finds the events of an account that were accepted between two times.
 *
 * Times of acceptance grow with the event numbers (domain/acceptance_times.h) until a clock is put
 * back. Then a new stretch begins: its first event was accepted earlier than the event before it.
 * The table accepted_back has the first event of each such stretch. An account rarely has more than
 * one stretch. Within a stretch the times are sorted, so it is searched by bisection. */
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
