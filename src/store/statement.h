/* Makes a statement from a day's events: what every store computes alike once it has them in
 * order. A store that repeats the sums but not the order of lines gives another digest. */
#pragma once

#include "store/store.h"

#include "base/buf.h"

#include <sodium.h>

struct statement_maker {
    struct statement_query *query;
    size_t capacity;
    struct buf line;
    crypto_hash_sha256_state hash; /* of the app under way, the last of query->apps */
};

/* Empties the query's results. */
void statement_begin(struct statement_maker *m, struct statement_query *query);
/* Events in the order of (app_no, bytes of event_id); leaves out what is in no statement. */
void statement_add(struct statement_maker *m, const struct event *e, enum callback_state state);
void statement_end(struct statement_maker *m);
