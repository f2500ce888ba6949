/* Checks whether the database's disk has room; see disk_room.h. */
#include "store/postgresql/disk_room.h"

#include "base/log.h"
#include "store/postgresql/sqlstate.h"

#define LOOK_EVERY_MS 1000

/* Writes about a megabyte of new pages without WAL. */
static enum pg_fate try_room(struct pg *pg)
{
    pg_begin(pg, false);
    pg_exec(pg, "CREATE UNLOGGED TABLE room_look AS SELECT generate_series(1,32768) AS n");
    enum pg_fate fate = pg_sync(pg);
    pg_rollback(pg);
    return fate;
}

void pg_room_look(struct pg_room *r, struct pg *pg, int64_t mono_ms)
{
    if (!atomic_exchange(&r->doubted, false) && !(pg_room_is_none(r) && mono_ms >= r->due_mono_ms))
        return;
    r->due_mono_ms = mono_ms + LOOK_EVERY_MS;
    enum pg_fate fate = try_room(pg);
    if (fate == PG_LOST) {
        pg_room_doubt(r);
        return;
    }
    bool none = fate == PG_NOT_NOW && sqlstate_is_disk_full(pg->sqlstate);
    if (atomic_exchange(&r->none, none) == none)
        return;
    if (none)
        log_error("database_full", LOG_STR("why", buf_str(&pg->why)));
    else
        log_info("database_has_room");
}
