/* What the writer lets wait. On its thread. */
#pragma once

#include "store/sqlite/sqlite_store.h"

enum writer_room { WRITER_ROOM, WRITER_ROOM_LATER, WRITER_ROOM_REFUSED };

/* Whether the journal has room for a batch, or its rest, now. A batch that has begun is not
 * refused. */
enum writer_room writer_journal_room(struct sqlite_store *s, const struct request *r);
/* True if an accepted event would have to wait for the applier. */
bool writer_waits_for_applier(const struct sqlite_store *s);
/* True if the read needs no barrier. */
bool writer_is_settled_read(const struct sqlite_store *s, const struct request *r);
/* True if a stop goes on without the database. */
bool writer_leaves_blocked(const struct sqlite_store *s);
/* True if the request must wait for the applier or the journal. */
bool writer_is_blocked(struct sqlite_store *s, const struct request *r);
/* `bytes`: of the current group. */
bool writer_waits_for_journal(struct sqlite_store *s, const struct request *r, size_t bytes);
/* True if the request has to wait; false: it is taken, or refused, now. */
bool writer_must_stall(struct sqlite_store *s, const struct request *r);
/* Whether a stop has waited for room for long enough. */
bool writer_must_give_up(const struct sqlite_store *s, const struct request *r);
