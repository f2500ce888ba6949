/* Computes a statement and its digest from the events of a day, for all stores alike, and says when
 * it can be final. The digest depends on the order of the events. */
#pragma once

#include "store/store.h"

#include "base/buf.h"
#include "base/limits.h"
#include "domain/clock.h"

#include <sodium.h>

/* The wall clock time from which no event of the day is accepted any more. From then on, an app's
 * statement is final as soon as none of its callbacks is pending. */
static inline int64_t statement_closes_ms(int32_t day)
{
    return (day + 1 + LIMIT_EVENT_AGE_DAYS) * DAY_MS;
}

struct statement_maker {
    struct statement_query *query;
    size_t capacity;
    struct buf line;
    /* the digest of the current app, which is the last of query->apps */
    crypto_hash_sha256_state hash;
};

/* Starts a statement: empties the query's results. */
void statement_begin(struct statement_maker *m, struct statement_query *query);
/* Adds the next event; events come in the order of (app_no, bytes of event_id). Events that belong
 * to no statement are skipped. */
void statement_add(struct statement_maker *m, const struct event *e, enum callback_state state);
void statement_end(struct statement_maker *m);
