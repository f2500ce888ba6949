/* Event rows by (account, number), under lock, in whatever partition they are. */
#pragma once

#include "store/postgresql/row.h"

struct fetch_key {
    uint32_t account_no;
    uint64_t event_no;
    int32_t period; /* where it is; FETCH_PERIOD_UNKNOWN: to be looked up */
};
#define FETCH_PERIOD_UNKNOWN INT32_MIN

struct fetched {
    struct pg_row *rows; /* in the arena, with their texts, by (account, number) */
    size_t count;
};

/* How rows are locked until the end of the transaction. */
enum fetch_lock { FETCH_UNLOCKED, FETCH_SHARED, FETCH_FOR_UPDATE };

/* The rows of these keys (in any order, more than once, not there: left out); some trips inside a
 * transaction. with_body: what a callback to hand over needs. */
MUST_CHECK enum pg_fate fetch_rows(struct pg *pg, struct fetch_key *keys, size_t count,
                                   enum fetch_lock lock, bool with_body, struct arena *arena,
                                   struct fetched *ret);
struct pg_row *fetched_find(const struct fetched *f, uint32_t account_no, uint64_t event_no);
