/* The database that SCENARIO_POSTGRESQL names, for programs that work with its tables directly. It
 * is theirs: they delete what is in it. */
#pragma once

#include "store/postgresql/connection.h"

/* Ends the program if it cannot be reached: run it by tests/scenario/postgresql.py run ... */
void database_connect(struct pg *to);
/* Deletes everything that is there. */
void database_empty(struct pg *pg);
/* The first column of the first row of that statement; -1, and a failed check, if it is refused. */
int64_t database_number(struct pg *pg, const char *sql);
