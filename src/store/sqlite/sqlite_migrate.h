/* Migrates the database of an older version: numbered steps, one transaction each. `PRAGMA
 * user_version` is the number of the last step done. */
#pragma once

#include "store/sqlite/sql.h"

/* Step i + 1 is SQL text. Released steps are never edited; a change is a new step. */
struct migration {
    const char *const *steps;
    int count;
};

/* False: the database, of version `made`, is a newer program's or another program's; *ret_why is a
 * sentence. known: the last version of this program. Version 0 is known: SQLite gives it to a new
 * database. */
MUST_CHECK bool migrate_is_known(struct sql *q, int made, int known, char **ret_why);
/* Runs the missing steps. False: the database has steps that this program does not know, or SQLite
 * failed; *ret_why is a sentence. Closing the connection rolls the failed step back; earlier steps
 * stay. */
MUST_CHECK bool migrate(struct sql *q, const struct migration *to, char **ret_why);
