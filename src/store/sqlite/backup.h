/* Copying a store into one file while it may be in use. */
#pragma once

#include "base/check.h"
#include "store/disk.h"

#include <stdbool.h>

/* Writes everything acknowledged in the store of `directory` to the new file `file`, which
 * becomes DIR/postbackd.db of a new, otherwise empty directory. Works from another process,
 * whether or not a daemon runs. Blocking. False: nothing is left of the copy and *ret_why is a
 * sentence (malloc'ed). */
MUST_CHECK bool sqlite_store_backup(const char *directory, struct disk *disk, const char *file,
                                    char **ret_why);
