/* Replaying journal groups into a database: at start, and into a backup's copy. */
#pragma once

#include "store/sqlite/apply.h"
#include "store/sqlite/view.h"

/* The directory is this process's alone until *ret_lock is closed; made where it is not there, with
 * its name durable. */
MUST_CHECK bool recover_lock(struct disk *disk, const char *directory, int *ret_lock,
                             char **ret_why);
/* Without a store: applies what the journal has behind the database that apply->sql is open on. The
 * caller closes both, whatever comes of it. */
MUST_CHECK bool recover_tail(struct apply *apply, struct view *view, struct disk *disk,
                             const char *database, const char *journal_directory, char **ret_why);
