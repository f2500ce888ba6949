/* Bringing the database of an older version up to date: numbered steps, one transaction each.
 * `PRAGMA user_version` is the number of the last step that was made. */
#pragma once

#include "store/sqlite/sql.h"

/* Step i + 1 is SQL text. Released steps are never edited; a change is a new step. */
struct migration {
    const char *const *steps;
    int count;
};

/* Makes the steps that the database lacks. False: the database has steps that this program does not
 * know, or SQLite failed; *ret_why is a sentence. The step under way is rolled back when the
 * connection is closed; those before it stay. */
MUST_CHECK bool migrate(struct sql *q, const struct migration *to, char **ret_why);
