/* Copies a whole store from SQLite to PostgreSQL, back, or to another of the same kind
 * (docs/operators/moving.md). Neither store may be in use meanwhile.
 *
 * The copy has everything that the target cannot derive: objects, events with their bodies, keys
 * and attempts, states of callbacks, report sums and books. Rows are read and written in one order
 * (copy/copy_records.h), a few thousand in a transaction, which also stores the position after the
 * last row in the target: a copy that was killed continues there. At the end both stores are read
 * whole and compared row by row. No daemon starts on the target until the two are found equal. */
#pragma once

#include "base/env.h"
#include "store/store.h"

/* Where a store is: one of the two is set. */
struct store_place {
    const char *directory; /* SQLite */
    const char *uri;       /* PostgreSQL */
};

struct copy_progress {
    bool comparing;   /* false: copying */
    int64_t done, of; /* events */
};

struct copy_options {
    struct store_place from, to;
    struct env *env;
    bool only_compare; /* copies nothing */
    /* Called for each object of the source before anything is copied. False: it is not acceptable,
     * and *ret_why is a sentence (malloc'ed). May be NULL. */
    bool (*judge)(void *context, enum object_kind kind, struct str document, char **ret_why);
    /* Called between transactions. False: stop here. */
    bool (*goes_on)(void *context, const struct copy_progress *at);
    void *context;
};

#define COPY_DIGEST_BYTES 32
struct copy_counts {
    int64_t objects, events, bodies, attempts, reports, books;
};
struct copy_result {
    bool went_on;          /* an earlier copy was continued */
    int64_t copied_events; /* by this run */
    struct copy_counts counts;
    unsigned char digests[2][COPY_DIGEST_BYTES]; /* of the source, of the target */
    char *difference; /* the first difference, as a sentence; malloc'ed; NULL: there is none */
};

enum copy_end {
    COPY_EQUAL,     /* done, and the target can be used */
    COPY_DIFFERENT, /* the target stays as it is */
    COPY_STOPPED,   /* by goes_on: the same call continues the copy */
    COPY_FAILED,    /* ret_why is a sentence (malloc'ed); the copied part is kept */
};
/* Blocks for minutes. */
MUST_CHECK enum copy_end store_copy(const struct copy_options *options, struct copy_result *ret,
                                    char **ret_why);
