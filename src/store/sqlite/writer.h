/* The writer's parts: its rounds (writer_thread.c), freezing (writer_freeze.c), and what has to
 * wait (writer_stall.c). All on the writer's thread. */
#pragma once

#include "store/sqlite/sqlite_store.h"

static inline bool writer_has_failed(const struct sqlite_store *s)
{
    return atomic_load_explicit(&s->store.failed, memory_order_acquire);
}

/* writer_freeze.c */

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

/* writer_stall.c */

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
