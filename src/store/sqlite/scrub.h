/* The scrub: reads all that the store has on its disk again, slowly, and compares it with its
 * checksums: groups of the journal (journal/check.h), pages of the database (page_sum.h), and so
 * the blocks of runs, the filters and all else in them. Once a week, and soon after a start that
 * no orderly close came before. What it finds it says, in the log and in the store's numbers, until
 * a later pass does not find it; it mends nothing and ends nothing.
 *
 * A pass takes no lock and no read transaction: it holds up neither a commit nor a checkpoint. */
#pragma once

#include "store/journal/journal.h"
#include "store/numbers.h"

struct sqlite_store;
struct scrub;
struct request;

/* interval_ms: for tests, between the begins of two passes; the first one begins at once, and each
 * reads as fast as it can. 0: as it is without. */
struct scrub *scrub_new(struct sqlite_store *store, int64_t interval_ms);
void scrub_start(struct scrub *scrub);
/* Ends the thread; before the applier's. */
void scrub_stop(struct scrub *scrub);
/* The store is closed in order: the next start needs no pass. */
void scrub_note_clean(struct scrub *scrub);
/* Behind the last of SQLite's connections: see scrub.c. */
void scrub_free(struct scrub *scrub);
void scrub_get_numbers(struct scrub *scrub, struct store_numbers *ret); /* any thread */
/* The applier's answer to REQUEST_CHECKPOINT, which it took from its queue. */
void scrub_checkpoint_done(struct scrub *scrub, struct request *r, bool is_complete);
