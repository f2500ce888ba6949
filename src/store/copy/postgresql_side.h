/* What both sides of a copy need of a database that nobody else uses. */
#pragma once

#include "store/copy/sides.h"
#include "store/postgresql/connection.h"

/* Connects; the server, the schema's version and that no daemon runs are looked at. One that was
 * killed is waited for until its lease is over, some seconds. `make`: an empty database gets its
 * tables. False: *ret_why is a sentence (malloc'ed). */
MUST_CHECK bool pg_side_open(struct pg *pg, bool make, char **ret_why);
/* How often daemons have taken the database, or a part of it, over: so whether one has since. */
MUST_CHECK bool pg_side_mark(struct pg *pg, struct buf *to);
/* One value of `meta`; absent where there is none. Valid until the next trip. */
MUST_CHECK bool pg_side_meta(struct pg *pg, const char *name, struct str *ret);
