/* What the source and the target of a copy need from a database that nobody else uses. */
#pragma once

#include "store/copy/sides.h"
#include "store/postgresql/connection.h"

enum pg_side_use {
    SIDE_SOURCE,    /* must be a whole store with one database */
    SIDE_TARGET,    /* the tables are made if it is empty */
    SIDE_READ_BACK, /* a target, to be compared */
};
/* Connects, checks the server and the schema's version, and checks that no daemon runs: it waits
 * some seconds for the lease of one that was killed. False: *ret_why is a sentence (malloc'ed). */
MUST_CHECK bool pg_side_open(struct pg *pg, enum pg_side_use use, char **ret_why);
/* Returns false; *ret_why is why the last trip failed. */
bool pg_side_failed(struct pg *pg, struct buf *ret_why);
/* How often daemons have claimed the database or a part of it: a mark that changes once one has. */
MUST_CHECK bool pg_side_mark(struct pg *pg, struct buf *to);
/* One value of `meta`; absent if there is none. Valid until the next round trip. */
MUST_CHECK bool pg_side_meta(struct pg *pg, const char *name, struct str *ret);
