/* Replays the journal after the position that SQLite has reached: at the start, after kill -9 or a
 * power cut, and into a backup's copy. A record changes the memtable in view_replay (view.h), as
 * it does in a running daemon. The memtable becomes rows of SQLite in apply_memtable (apply.h). */
#pragma once

#include "store/sqlite/sqlite_store.h"

/* Without a store: applies the journal from the position of the database that apply->sql is open
 * on. The caller closes apply and view in any case. */
MUST_CHECK bool recover_tail(struct apply *apply, struct view *view, struct disk *disk,
                             const char *database, const char *journal_directory, char **ret_why);
MUST_CHECK bool recover_open(struct sqlite_store *s, char **ret_why);
