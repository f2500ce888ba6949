/* Checks that database, WAL and journal are of one store. The database's meta has the id that every
 * segment and group of its journal carries. The checks change nothing. */
#pragma once

#include "store/disk.h"
#include "store/sqlite/sql.h"

/* The id of the database's journal; 0: it has none yet. */
#define META_JOURNAL_ID "journal_id"
uint64_t identity_journal_id(struct sql *q);
/* Makes the id if there is none; or replaces it, so that no journal belongs to the database. */
void identity_make(struct sql *q, uint64_t fresh);
void identity_replace(struct sql *q, uint64_t fresh);

/* Before the database is opened: the WAL may be another database's, or the database may be missing
 * beside its journal. False: *ret_why is a malloc'ed sentence. */
MUST_CHECK bool identity_check_files(struct disk *disk, const char *database,
                                     const char *journal_directory, char **ret_why);
/* On the open database, before its first change. */
MUST_CHECK bool identity_check_journal(struct sql *q, struct disk *disk,
                                       const char *journal_directory, char **ret_why);
