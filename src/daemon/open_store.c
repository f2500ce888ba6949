/* Which store, and with what of the options. */
#include "daemon/open_store.h"

#include "daemon/upgrade.h"

static struct store *open_postgresql(const struct daemon_options *o, struct env *env,
                                     char **ret_why)
{
    struct postgresql_store_options options = {
        .uri = o->store_uri,
        .env = env,
        .retention = o->retention,
        .waiting_most = o->waiting_most,
        .node_name = o->node_name,
        .replica_uri = o->replica_uri,
        .replica_lag_most_ms = o->replica_lag_most_ms,
    };
    return postgresql_store_open(&options, ret_why);
}

static struct store *open_sqlite(const struct daemon_options *o, struct env *env, char **ret_why)
{
    struct upgrade_watch watch = {.env = env};
    struct sqlite_store_options options = {
        .directory = o->store_directory,
        .disk = disk_real(),
        .env = env,
        .retention = o->retention,
        .disk_reserve_bytes = o->disk_reserve_bytes,
        .waiting_most = o->waiting_most,
        .upgrade_goes_on = upgrade_goes_on,
        .upgrade_context = &watch,
    };
    return sqlite_store_open(&options, ret_why);
}

struct store *open_store_of(const struct daemon_options *o, struct env *env, char **ret_why)
{
    return o->store_uri ? open_postgresql(o, env, ret_why) : open_sqlite(o, env, ret_why);
}
