/* The applier: memtables become rows of SQLite. */
#pragma once

#include "store/sqlite/sqlite_store.h"

void *applier_main(void *arg);
void applier_publish_numbers(struct sqlite_store *s);
/* True: the checkpoint was complete. */
bool applier_checkpoint(struct sqlite_store *s, bool all);
