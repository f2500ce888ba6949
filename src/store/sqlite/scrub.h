/* The scrub: slowly reads again everything that the store has on its disk and verifies the
 * checksums: groups of the journal (journal/journal_check.h) and pages of the database
 * (page_sum.h), with everything in them. Deletes nothing: old data is dropped in purge.c. It runs
 * once a week, and soon after a start that follows an unclean end. It reports damage in the log and
 * in the store's numbers until a later pass does not find it; it repairs nothing and stops nothing.
 *
 * A pass takes no lock and no read transaction, so it delays neither commits nor checkpoints. */
#pragma once

#include "store/journal/journal.h"
#include "store/numbers.h"

struct sqlite_store;
struct scrub;
struct request;

/* interval_ms: for tests, the time between the starts of two passes; the first pass begins at once,
 * and passes read as fast as they can. 0: the normal interval and speed. */
struct scrub *scrub_new(struct sqlite_store *store, int64_t interval_ms);
void scrub_start(struct scrub *scrub);
/* Ends the thread; call it before the applier ends. */
void scrub_stop(struct scrub *scrub);
/* The store is closed cleanly: the next start needs no pass. */
void scrub_note_clean(struct scrub *scrub);
/* After SQLite's last connection is closed: see scrub.c. */
void scrub_free(struct scrub *scrub);
void scrub_get_numbers(struct scrub *scrub, struct store_numbers *ret); /* any thread */
/* The applier's answer to a REQUEST_CHECKPOINT. */
void scrub_checkpoint_done(struct scrub *scrub, struct request *r, bool is_complete);
