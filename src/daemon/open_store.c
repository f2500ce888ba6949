/* Opens the store of the options. */
#include "daemon/open_store.h"

#include "accounts/directory.h"

#include <stdlib.h>

static struct store *open_postgresql(const struct daemon_options *o, struct env *env,
                                     char **ret_why)
{
    const char *uris[CLUSTERS_MOST] = {o->store_uri};
    struct clusters_store_options options = {
        .uris = uris,
        .uri_count = 1 + o->cluster_count,
        .each =
            {
                .uri = o->store_uri,
                .env = env,
                .retention = o->retention,
                .waiting_most = o->waiting_most,
                .node_name = o->node_name,
                .replica_uri = o->replica_uri,
                .replica_lag_most_ms = o->replica_lag_most_ms,
            },
    };
    for (size_t i = 0; i < o->cluster_count; i++)
        uris[1 + i] = o->cluster_uris[i];
    return o->cluster_count > 0 ? clusters_store_open(&options, ret_why)
                                : postgresql_store_open(&options.each, ret_why);
}

/* Tests of the whole daemon set it to "BYTES,PAGES" or "BYTES,PAGES,MS", to see many segments,
 * checkpoints and scrubs in seconds. */
static void read_test_sizes(struct sqlite_store_options *options)
{
    const char *text = getenv("POSTBACKD_TEST_SIZES");
    char *rest = NULL;
    if (!text)
        return;
    options->journal_segment_bytes = (size_t)strtoull(text, &rest, 10);
    options->checkpoint_pages = *rest == ',' ? (int)strtoul(rest + 1, &rest, 10) : 0;
    options->scrub_interval_ms = *rest == ',' ? (int64_t)strtoul(rest + 1, NULL, 10) : 0;
}

static struct store *open_sqlite(const struct daemon_options *o, struct env *env, char **ret_why)
{
    struct sqlite_store_options options = {
        .directory = o->store_directory,
        .disk = disk_real(),
        .env = env,
        .retention = o->retention,
        .disk_reserve_bytes = o->disk_reserve_bytes,
        .waiting_most = o->waiting_most,
    };
    read_test_sizes(&options);
    return sqlite_store_open(&options, ret_why);
}

static void placed(void *store, uint32_t account_no, uint32_t app_no, uint32_t cluster)
{
    store_place(store, account_no, app_no, cluster);
}

struct store *open_store_of(const struct daemon_options *o, struct directory *directory,
                            struct env *env, char **ret_why)
{
    struct store *s =
        o->store_uri ? open_postgresql(o, env, ret_why) : open_sqlite(o, env, ret_why);
    if (s)
        directory_set_placed(directory, placed, s);
    return s;
}
