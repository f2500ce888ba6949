/* The two sides of a copy. One thread uses each side. The calls block. After a failure every call
 * fails, and `why` is a sentence. */
#pragma once

#include "store/copy/copy_records.h"
#include "store/store_copy.h"

/* Rows in a chunk, at most; an event with its texts takes some 2 KiB. */
#define COPY_CHUNK_ROWS 2048

/* A store that is read and not in use. */
struct copy_source {
    const struct copy_source_ops *ops;
    struct buf why;
    struct hash_secret secret;
    int64_t events; /* in total */
};

struct copy_source_ops {
    /* Sets the position that the next chunk follows. */
    bool (*seek)(struct copy_source *s, const struct copy_position *at);
    bool (*read)(struct copy_source *s, struct copy_chunk *ret);
    /* A line that changes when the store is used. */
    bool (*mark)(struct copy_source *s, struct buf *to);
    void (*close)(struct copy_source *s);
};

/* A store that is being filled. */
struct copy_target {
    const struct copy_target_ops *ops;
    struct buf why;
    bool went_on;
    int64_t events_before;   /* events in it when it was opened */
    struct copy_position at; /* after the last row written */
};

struct copy_target_ops {
    /* Writes the rows and the position after them atomically, now or with later chunks; `at` is
     * then that position. A chunk without rows ends its section and writes everything. */
    bool (*write)(struct copy_target *t, struct copy_chunk *chunk);
    /* The written store, for comparison; closed before the target is. */
    struct copy_source *(*reread)(struct copy_target *t, char **ret_why);
    /* Makes the target ready for a daemon. */
    bool (*finish)(struct copy_target *t);
    void (*close)(struct copy_target *t); /* keeps an unfinished copy */
};

/* NULL: *ret_why is a sentence (malloc'ed). */
struct copy_source *copy_sqlite_source(const char *directory, char **ret_why);
/* A database file without a journal that nobody uses. */
struct copy_source *copy_sqlite_source_of_file(const char *database, char **ret_why);
struct copy_source *copy_postgresql_source(const char *uri, char **ret_why);
/* a target whose copy is about to end */
struct copy_source *copy_postgresql_read_back(const char *uri, char **ret_why);
/* `mark` is the source's; an unfinished copy with the same mark is continued. */
struct copy_target *copy_sqlite_target(const char *directory, const struct copy_source *from,
                                       struct str mark, char **ret_why);
struct copy_target *copy_postgresql_target(const char *uri, const struct copy_source *from,
                                           struct str mark, char **ret_why);

/* compare.c: reads both whole. The outcome is in *ret; COPY_FAILED: one of the sources says why. */
enum copy_end copy_compare(const struct copy_options *options, struct copy_source *sources[2],
                           struct copy_result *ret);
