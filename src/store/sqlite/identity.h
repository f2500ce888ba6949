/* Whether database, WAL and journal are of one store. The database's meta has the id that every
 * segment and group of its journal carries. All of this looks only: nothing is changed. */
#pragma once

#include "store/disk.h"
#include "store/sqlite/sql.h"

/* The id of the journal that belongs to the database; 0: it has none yet. */
#define META_JOURNAL_ID "journal_id"
uint64_t identity_journal_id(struct sql *q);
/* Makes it where there is none; or a new one, so that no journal belongs to the database. */
void identity_make(struct sql *q, uint64_t fresh);
void identity_replace(struct sql *q, uint64_t fresh);

/* Before the database is opened: its WAL may be another's, and it may be missing beside a journal.
 * On failure *ret_why is a malloc'ed sentence. */
MUST_CHECK bool identity_check_files(struct disk *disk, const char *database,
                                     const char *journal_directory, char **ret_why);
/* On the open database, before its first change. */
MUST_CHECK bool identity_check_journal(struct sql *q, struct disk *disk,
                                       const char *journal_directory, char **ret_why);
