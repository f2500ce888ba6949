/* Whether the database's disk has room. A write that fails with "disk full" only raises a doubt,
 * because a quota or a trigger may fail like that for a single row. The keeper then checks with a
 * write that needs new pages, and rolls it back. A success elsewhere proves nothing: an update
 * within a page, such as a lease's, needs no room. */
#pragma once

#include "store/postgresql/connection.h"

#include <stdatomic.h>

struct pg_room {
    atomic_bool doubted; /* the keeper is to check */
    atomic_bool none;    /* result of its last check */
    int64_t due_mono_ms; /* of the next check; the keeper's */
};

static inline bool pg_room_is_none(struct pg_room *r)
{
    return atomic_load(&r->none);
}

static inline void pg_room_doubt(struct pg_room *r)
{
    atomic_store(&r->doubted, true);
}

/* True if the server cannot write a megabyte now. Outside any transaction; changes nothing. */
bool pg_room_is_full(struct pg *pg);
/* Checks if there is a doubt. On the keeper's thread, outside any transaction. */
void pg_room_look(struct pg_room *r, struct pg *pg, int64_t mono_ms);
