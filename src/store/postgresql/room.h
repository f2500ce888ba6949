/* Whether the database's disk has room. A write that fails for want of it only raises the doubt, as
 * somebody's quota or trigger may say the same of one row; the keeper then looks, by a write that
 * needs new pages and is rolled back. A success elsewhere says nothing: a row that changes in its
 * page, a node's lease for one, needs no room. */
#pragma once

#include "store/postgresql/connection.h"

#include <stdatomic.h>

struct pg_room {
    atomic_bool doubted; /* the keeper is to look */
    atomic_bool none;    /* as of its last look */
    int64_t due_mono_ms; /* of the next look; the keeper's own */
};

static inline bool pg_room_is_none(struct pg_room *r)
{
    return atomic_load(&r->none);
}

static inline void pg_room_doubt(struct pg_room *r)
{
    atomic_store(&r->doubted, true);
}

/* Looks if there is a doubt. On the keeper's thread, outside any transaction. */
void pg_room_look(struct pg_room *r, struct pg *pg, int64_t mono_ms);
