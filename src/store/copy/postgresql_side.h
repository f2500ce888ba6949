/* What the source and the target of a copy need from a database that nobody else uses. */
#pragma once

#include "store/copy/sides.h"
#include "store/postgresql/connection.h"

/* Connects, checks the server and the schema's version, and checks that no daemon runs: it waits
 * some seconds for the lease of one that was killed. `make`: creates the tables in an empty
 * database. False: *ret_why is a sentence (malloc'ed). */
MUST_CHECK bool pg_side_open(struct pg *pg, bool make, char **ret_why);
/* How often daemons have claimed the database or a part of it: a mark that changes once one has. */
MUST_CHECK bool pg_side_mark(struct pg *pg, struct buf *to);
/* One value of `meta`; absent if there is none. Valid until the next round trip. */
MUST_CHECK bool pg_side_meta(struct pg *pg, const char *name, struct str *ret);
