/* Moves a PostgreSQL database to another server while daemons use it (docs/operators/clusters.md),
 * by PostgreSQL's logical replication. Both databases follow each other in turn: the target follows
 * the source until the switch, and the source follows the target until the move is finished. */
#pragma once

#include "base/check.h"

#include <stdbool.h>

struct move_options {
    const char *from, *to; /* URIs of one server each; each server also reaches the other by it */
    bool finish;           /* ends the replication instead; the database in use stays in use */
    /* Called with each step, and while rows are copied. The line has no newline. */
    void (*say)(void *context, const char *line);
    bool (*goes_on)(void *context); /* false: stop where it is safe */
    void *context;
};

enum move_end {
    MOVE_DONE,
    MOVE_STOPPED, /* by goes_on: the same call continues */
    MOVE_FAILED,  /* *ret_why is a sentence (malloc'ed); the same call continues */
};
/* Blocks until the daemons use the target. */
MUST_CHECK enum move_end store_move(const struct move_options *o, char **ret_why);
