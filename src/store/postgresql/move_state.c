/* See move_state.h. Functions that take names, such as to_regproc, would need rights to the schema
 * of the move; the catalogs do not. */
#include "store/postgresql/move_state.h"
#include "store/postgresql/pg_schema.h"

#include <stdio.h>

static void copy_text(char *to, size_t size, struct str text)
{
    snprintf(to, size, "%.*s", STR_ARG(text));
}

bool pg_move_look(struct pg *pg, struct pg_move_facts *ret)
{
    pg_begin(pg, true);
    int at = pg_exec_f(
        pg,
        "SELECT (SELECT system_identifier FROM pg_control_system())||'_'||d.oid,"
        "EXISTS(SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid=pronamespace"
        " WHERE nspname='" PG_MOVE_NAME "' AND proname='refuse'),"
        "EXISTS(SELECT FROM pg_publication WHERE pubname='" PG_MOVE_NAME "'),"
        "EXISTS(SELECT FROM pg_subscription WHERE subname='" PG_MOVE_NAME "' AND subdbid=d.oid),"
        "(SELECT min(substr(slot_name,length('" PG_MOVE_NAME "_')+1)) FROM pg_replication_slots"
        " WHERE starts_with(slot_name,'" PG_MOVE_NAME "_') AND database=d.datname),"
        "(SELECT coalesce(min(pid),0) FROM pg_locks WHERE locktype='advisory' AND classid=0"
        " AND objid=%d AND granted AND database=d.oid)"
        " FROM pg_database d WHERE datname=current_database()",
        PG_MOVE_LOCK);
    if (pg_end_read(pg) != PG_OK)
        return false;
    const PGresult *r = pg_result(pg, at);
    *ret = (struct pg_move_facts){
        .fenced = pg_int(r, 0, 1) != 0,
        .published = pg_int(r, 0, 2) != 0,
        .subscribed = pg_int(r, 0, 3) != 0,
        .lock_pid = pg_int(r, 0, 5),
    };
    copy_text(ret->identity, sizeof ret->identity, pg_str(r, 0, 0));
    copy_text(ret->follower, sizeof ret->follower, pg_str(r, 0, 4));
    return true;
}

/* A table that was copied has the position at which its copy ended. */
bool pg_move_progress(struct pg *pg, struct move_state *ret)
{
    pg_begin(pg, true);
    int at = pg_exec(pg, "SELECT count(*) FILTER(WHERE srsubstate='r'),count(*),"
                         "pg_database_size(current_database()),coalesce((SELECT"
                         " apply_error_count+sync_error_count FROM pg_stat_subscription_stats t"
                         " WHERE t.subid=max(u.oid)),0),"
                         "coalesce(bool_or(srsublsn IS NOT NULL OR srsubstate<>'r'),true)"
                         " FROM pg_subscription u JOIN pg_subscription_rel"
                         " ON srsubid=u.oid WHERE " PG_MOVE_SUBSCRIPTION);
    if (pg_end_read(pg) != PG_OK)
        return false;
    const PGresult *r = pg_result(pg, at);
    ret->tables_done = pg_int(r, 0, 0);
    ret->tables = pg_int(r, 0, 1);
    ret->bytes_done = pg_int(r, 0, 2);
    ret->errors = pg_int(r, 0, 3);
    ret->step = !pg_int(r, 0, 4)                 ? MOVE_SWITCHED
                : ret->tables_done < ret->tables ? MOVE_COPYING
                                                 : MOVE_FOLLOWING;
    return true;
}

bool pg_move_lag(struct pg *pg, const char *follower, struct move_state *ret)
{
    pg_begin(pg, true);
    int at = pg_exec_f(pg,
                       "SELECT pg_database_size(current_database()),(SELECT"
                       " pg_wal_lsn_diff(pg_current_wal_lsn(),confirmed_flush_lsn)::bigint"
                       " FROM pg_replication_slots WHERE slot_name='" PG_MOVE_NAME "_%s')",
                       follower);
    if (pg_end_read(pg) != PG_OK)
        return false;
    ret->bytes = pg_int(pg_result(pg, at), 0, 0);
    ret->behind_bytes = pg_int(pg_result(pg, at), 0, 1);
    return true;
}
