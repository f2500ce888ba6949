/* Moving a store: all of it, from SQLite to PostgreSQL, back, or to another of the same kind
 * (docs/operators/moving.md). Neither store may be in use meanwhile.
 *
 * What goes over is what stores keep and cannot find again: objects, events with their bodies, keys
 * and attempts, where every callback stands, the sums of reports and the ledger. It is read and
 * written in one order (copy/copy_records.h), a few thousand rows to a transaction, and the place
 * behind the last row that was written is kept in the target, in the same transaction: a copy that
 * was killed goes on there. At the end both stores are read whole, and compared row by row. Until
 * they are found equal the target is nobody's to start on. */
#pragma once

#include "base/env.h"
#include "store/store.h"

/* One of them. */
struct store_place {
    const char *directory; /* SQLite */
    const char *uri;       /* PostgreSQL */
};

struct copy_progress {
    bool comparing;   /* else copying */
    int64_t done, of; /* events */
};

struct copy_options {
    struct store_place from, to;
    struct env *env;
    bool only_compare; /* copy nothing */
    /* Each object of the source before anything is copied; false: it will not do, and *ret_why is a
     * sentence (malloc'ed). NULL: none is looked at. */
    bool (*judge)(void *context, enum object_kind kind, struct str document, char **ret_why);
    /* Between two transactions. False: stop there. */
    bool (*goes_on)(void *context, const struct copy_progress *at);
    void *context;
};

#define COPY_DIGEST_BYTES 32
struct copy_counts {
    int64_t objects, events, bodies, attempts, reports, books;
};
struct copy_result {
    bool went_on;          /* with a copy that had been begun before */
    int64_t copied_events; /* by this run */
    struct copy_counts counts;
    unsigned char digests[2][COPY_DIGEST_BYTES]; /* of the source, of the target */
    char *difference; /* the first one, a sentence; malloc'ed, NULL: there is none */
};

enum copy_end {
    COPY_EQUAL,     /* done, and the target may be used */
    COPY_DIFFERENT, /* the target is left as it is */
    COPY_STOPPED,   /* by goes_on: the same call goes on from there */
    COPY_FAILED,    /* *ret_why is a sentence (malloc'ed); what was copied is kept */
};
/* Blocking, minutes. */
MUST_CHECK enum copy_end store_copy(const struct copy_options *options, struct copy_result *ret,
                                    char **ret_why);
