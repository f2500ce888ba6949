/* Computes a statement and its digest from the events of a day, for all stores alike. The digest
 * depends on the order of the events. */
#pragma once

#include "store/store.h"

#include "base/buf.h"

#include <sodium.h>

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
