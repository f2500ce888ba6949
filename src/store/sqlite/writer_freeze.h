/* When the writer freezes the memtable. On the writer's thread. */
#pragma once

#include "store/sqlite/sqlite_store.h"

/* True if intake has to wait for the next memtable. */
bool writer_is_full(const struct sqlite_store *s, const struct memtable *m);
/* True if outcomes and changes have to wait, too. */
bool writer_is_overfull(const struct sqlite_store *s, const struct memtable *m);
/* Passes on a request that waits for nothing more. */
void writer_dispatch(struct sqlite_store *s, struct request *r);
void writer_drop_spare(struct sqlite_store *s);
/* Requests behind the barrier freeze the memtable sooner: a read at once. */
int64_t writer_freeze_at_mono_ms(const struct sqlite_store *s);
/* Between groups: freezes the memtable if it is time, or releases what waited for a freeze. */
void writer_freeze_when_due(struct sqlite_store *s);
/* Handles the applier's result for the frozen memtable. */
void writer_take_applied(struct sqlite_store *s, struct request *r);
