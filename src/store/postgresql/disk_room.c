/* Checks whether the database's disk has room; see disk_room.h. */
#include "store/postgresql/disk_room.h"

#include "base/log.h"
#include "store/postgresql/sqlstate.h"

#define LOOK_EVERY_MS 1000

/* Has the server write about a megabyte beside the tables: a sort that its memory has no room for.
 * An unlogged table that is rolled back would do the same, but a server that is killed right
 * afterwards cannot start again: the WAL makes the table, and one of its files is still there. */
static enum pg_fate try_room(struct pg *pg)
{
    pg_begin(pg, true);
    pg_exec(pg, "SELECT set_config('work_mem','64kB',true),set_config('temp_tablespaces','',true)");
    pg_exec(pg, "SELECT max(n) FROM (SELECT n FROM generate_series(1,65536) AS n ORDER BY n DESC"
                " OFFSET 0) AS sorted");
    enum pg_fate fate = pg_sync(pg);
    pg_rollback(pg);
    return fate;
}

bool pg_room_is_full(struct pg *pg)
{
    return try_room(pg) == PG_NOT_NOW && sqlstate_is_disk_full(pg->sqlstate);
}

void pg_room_look(struct pg_room *r, struct pg *pg, int64_t mono_ms)
{
    if (!atomic_exchange(&r->doubted, false) && !(pg_room_is_none(r) && mono_ms >= r->due_mono_ms))
        return;
    r->due_mono_ms = mono_ms + LOOK_EVERY_MS;
    enum pg_fate fate = try_room(pg);
    bool none = fate == PG_NOT_NOW && sqlstate_is_disk_full(pg->sqlstate);
    if (fate != PG_OK && !none) { /* the check failed for another reason */
        pg_room_doubt(r);
        return;
    }
    if (atomic_exchange(&r->none, none) == none)
        return;
    if (none)
        log_error("database_full", LOG_STR("why", buf_str(&pg->why)));
    else
        log_info("database_has_room");
}
