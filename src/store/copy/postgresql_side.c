/* The leases that daemons keep in a database tell whether it is in use. */
#include "store/copy/postgresql_side.h"

#include "base/alloc.h"
#include "store/nodes/shards.h"

#include <inttypes.h>
#include <poll.h>

#include "store/postgresql/pg_connect.h"
#include "store/postgresql/pg_schema.h"

#define LOOK_MS 200
/* The lease of a node that was killed, and a second. */
#define PATIENCE_MS (NODE_LEASE_MS + 1000)

/* How long until the last node's lease ends; 0: there is none. */
static bool held_for_ms(struct pg *pg, int64_t *ret)
{
    pg_begin(pg, true);
    int at = pg_exec(pg, "SELECT coalesce(max(greatest(0,ceil(extract(epoch FROM until-now())*1000"
                         "))),0)::bigint FROM node");
    if (pg_end_read(pg) != PG_OK)
        return false;
    *ret = pg_int(pg_result(pg, at), 0, 0);
    return true;
}

static bool is_free(struct pg *pg)
{
    int64_t until = env_mono_ms(env_real()) + PATIENCE_MS, left_ms;
    while (held_for_ms(pg, &left_ms)) {
        if (left_ms == 0)
            return true;
        if (env_mono_ms(env_real()) > until)
            return pg_refuse(pg, "a postbackd is running on this database: stop it first");
        (void)poll(NULL, 0, LOOK_MS);
    }
    return false;
}

/* Makes no tables: a source stays as it is. */
static bool is_of_this_version(struct pg *pg)
{
    pg_begin(pg, true);
    int at = pg_exec(pg, "SELECT to_regclass('schema_version') IS NOT NULL");
    if (pg_sync(pg) != PG_OK)
        return false;
    if (!pg_int(pg_result(pg, at), 0, 0))
        return pg_refuse(pg, "there is no store in this database");
    at = pg_exec(pg, "SELECT max(version) FROM schema_version");
    if (pg_end_read(pg) != PG_OK)
        return false;
    int64_t version = pg_int(pg_result(pg, at), 0, 0);
    if (version == PG_SCHEMA_VERSION)
        return true;
    return pg_refuse(
        pg, "the database has schema version %" PRId64 ", not %d: %s", version, PG_SCHEMA_VERSION,
        version < PG_SCHEMA_VERSION ? "bring it up to date with `postbackd migrate` first"
                                    : "use the newer program that made it");
}

static bool is_finished(struct pg *pg)
{
    pg_begin(pg, true);
    int at = pg_exec(pg, "SELECT " PG_COPY_IS_UNFINISHED);
    if (pg_end_read(pg) != PG_OK)
        return false;
    return !pg_int(pg_result(pg, at), 0, 0) ||
           pg_refuse(pg, "a copy into this database is not finished: copy from where that one came"
                         " from");
}

/* A first cluster has the records of the others. */
static bool is_alone(struct pg *pg)
{
    struct pg_identity store;
    struct pg_store_id records[CLUSTERS_MOST];
    if (pg_identity_look(pg, &store) != IDENTITY_FOUND)
        return pg_refuse(pg, "the key of the hashes in table meta is missing or damaged");
    if (!cluster_records_load(pg, records))
        return false;
    bool is = store.cluster == 0;
    for (size_t i = 0; i < CLUSTERS_MOST; i++)
        is &= !pg_store_id_is_set(&records[i]);
    return is || pg_refuse(pg,
                           "this is cluster %u of several, and a copy is of a store with one"
                           " database: `postbackd move` moves a cluster",
                           store.cluster);
}

/* A source that lacks events would become a store that starts, and takes them once more. */
static bool is_whole(struct pg *pg)
{
    return is_finished(pg) && is_alone(pg);
}

bool pg_side_open(struct pg *pg, enum pg_side_use use, char **ret_why)
{
    if (pg_connect(pg) && pg_check_server(pg) &&
        (use != SIDE_TARGET || pg_migrate(pg, &pg_schema_migration, PG_EXPAND)) &&
        is_of_this_version(pg) && pg_check_steps(pg, &pg_schema_migration) &&
        (use != SIDE_SOURCE || is_whole(pg)) && is_free(pg))
        return true;
    *ret_why = xstrdup(buf_c(&pg->why));
    return false;
}

bool pg_side_mark(struct pg *pg, struct buf *to)
{
    pg_begin(pg, true);
    int at = pg_exec(pg, "SELECT sum(fence)::bigint FROM shard");
    if (pg_end_read(pg) != PG_OK)
        return false;
    buf_printf(to, "fence %" PRId64, pg_int(pg_result(pg, at), 0, 0));
    return true;
}

bool pg_side_meta(struct pg *pg, const char *name, struct str *ret)
{
    pg_begin(pg, true);
    args_str(pg_args(pg), PG_TEXT, str_of(name));
    int at = pg_query(pg, "SELECT value FROM meta WHERE name=$1");
    if (pg_end_read(pg) != PG_OK)
        return false;
    const PGresult *r = pg_result(pg, at);
    *ret = PQntuples(r) == 1 ? pg_str(r, 0, 0) : STR_NONE;
    return true;
}

bool pg_side_failed(struct pg *pg, struct buf *ret_why)
{
    buf_clear(ret_why);
    buf_add_str(ret_why, buf_str(&pg->why));
    (void)buf_c(ret_why);
    return false;
}
