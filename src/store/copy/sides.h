/* The two sides of a copy. Each is used by one thread, blocks, and fails for good: then `why` is a
 * sentence. */
#pragma once

#include "store/copy/records.h"
#include "store/store_copy.h"

/* Rows to a chunk, at most; an event with its texts takes some 2 KiB. */
#define COPY_CHUNK_ROWS 2048

/* A store that is read and not in use. */
struct copy_source {
    const struct copy_source_ops *ops;
    struct buf why;
    struct hash_secret secret;
    int64_t events; /* in all */
};

struct copy_source_ops {
    /* The next chunk is what comes behind the position. */
    bool (*seek)(struct copy_source *s, const struct copy_position *at);
    bool (*read)(struct copy_source *s, struct copy_chunk *ret);
    /* A line that is another one once the store has been in use. */
    bool (*mark)(struct copy_source *s, struct buf *to);
    void (*close)(struct copy_source *s);
};

/* A store that is being filled. */
struct copy_target {
    const struct copy_target_ops *ops;
    struct buf why;
    bool went_on;
    int64_t events_before;   /* that were there when it was opened */
    struct copy_position at; /* behind what is written */
};

struct copy_target_ops {
    /* The rows and the position behind them, whole or not at all, now or with those that follow;
     * `at` is that position then. A chunk without rows ends its section, and all is written. */
    bool (*write)(struct copy_target *t, struct copy_chunk *chunk);
    /* What has been written, to be compared; closed before the target is. */
    struct copy_source *(*reread)(struct copy_target *t, char **ret_why);
    /* Hands it over to whoever starts on it. */
    bool (*finish)(struct copy_target *t);
    void (*close)(struct copy_target *t); /* what is written and not finished stays */
};

/* NULL: *ret_why is a sentence (malloc'ed). */
struct copy_source *copy_sqlite_source(const char *directory, char **ret_why);
/* A database file that is nobody's, without a journal. */
struct copy_source *copy_sqlite_source_of_file(const char *database, char **ret_why);
struct copy_source *copy_postgresql_source(const char *uri, char **ret_why);
/* `mark` is the source's; a copy is gone on with where it is the same. */
struct copy_target *copy_sqlite_target(const char *directory, const struct copy_source *from,
                                       struct str mark, char **ret_why);
struct copy_target *copy_postgresql_target(const char *uri, const struct copy_source *from,
                                           struct str mark, char **ret_why);

/* compare.c: reads both whole. The outcome is in *ret; COPY_FAILED: one of the two says why. */
enum copy_end copy_compare(const struct copy_options *options, struct copy_source *sources[2],
                           struct copy_result *ret);
