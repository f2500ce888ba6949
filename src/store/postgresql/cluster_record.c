/* Reading and writing the record of clusters: see cluster_record.h. */
#include "store/postgresql/cluster_record.h"

#include "store/postgresql/connection.h"
#include "store/postgresql/pg_migrate.h"

#include <string.h>

#define ANEW                                                                                       \
    " If its database is lost for good and the cluster is to begin anew, delete the row of table"  \
    " meta in the first cluster's database: DELETE FROM meta WHERE name='cluster_%u'"

bool cluster_records_load(struct pg *home, struct pg_store_id ret[CLUSTERS_MOST])
{
    pg_begin(home, true);
    int at = pg_exec(home, "SELECT substr(name,9),value FROM meta WHERE name LIKE 'cluster\\_%'");
    if (pg_end_read(home) != PG_OK)
        return false;
    const PGresult *r = pg_result(home, at);
    memset(ret, 0, CLUSTERS_MOST * sizeof *ret);
    for (int row = 0; row < PQntuples(r); row++) {
        uint64_t cluster;
        if (str_parse_uint(pg_str(r, row, 0), CLUSTERS_MOST - 1, &cluster))
            (void)pg_store_id_read(pg_str(r, row, 1), &ret[cluster]);
    }
    return true;
}

static int ask(struct pg *home, uint32_t cluster)
{
    return pg_exec_f(home, "SELECT value FROM meta WHERE name='cluster_%u'", cluster);
}

/* False: there is no record of the cluster. */
static bool read_record(const PGresult *r, struct pg_store_id *ret)
{
    *ret = (struct pg_store_id){0};
    return PQntuples(r) == 1 && pg_store_id_read(pg_str(r, 0, 0), ret);
}

/* A connection of its own, because the cluster is opened on another thread than its home; and a
 * short patience, because that thread must end with the daemon. */
struct asking {
    struct pg pg;
    struct pg_hosts hosts;
};

static bool connect_home(struct asking *a, const struct cluster_home *home)
{
    pg_init(&a->pg, home->uri);
    pg_hosts_init(&a->hosts, home->uri);
    a->pg.hosts = &a->hosts;
    a->pg.identity = home->identity;
    a->pg.trip_ms = PG_TRIP_SHORT_MS;
    return pg_connect(&a->pg);
}

static void disconnect(struct asking *a)
{
    pg_close(&a->pg);
    pg_hosts_free(&a->hosts);
}

static bool not_asked(struct pg *pg, const struct asking *a, uint32_t cluster)
{
    return pg_refuse(pg, "the first cluster does not say which database cluster %u has: %.*s",
                     cluster, STR_ARG(buf_str(&a->pg.why)));
}

static bool is_another(struct pg *pg, uint32_t cluster)
{
    return pg_refuse(pg,
                     "this is not the database that cluster %u has: its URI leads elsewhere, or"
                     " the database was made anew. Name the right one, or restore it." ANEW,
                     cluster, cluster);
}

bool cluster_record_allows(struct pg *pg, const struct cluster_home *home, uint32_t cluster,
                           const struct pg_identity *store)
{
    struct asking a;
    bool good = connect_home(&a, home);
    if (good)
        pg_begin(&a.pg, true);
    int at = good ? ask(&a.pg, cluster) : 0;
    good = good && pg_end_read(&a.pg) == PG_OK;
    if (good)
        (void)read_record(pg_result(&a.pg, at), home->record);
    bool known = pg_store_id_is(home->record);
    bool same = known && store && pg_store_id_eq(home->record, &store->id);
    if (!good && !same) /* while it is away, what it said last counts */
        (void)not_asked(pg, &a, cluster);
    else if (known && !store)
        good = pg_refuse(pg,
                         "this database is empty, but cluster %u has one with events: its URI"
                         " leads elsewhere, or the database was made anew. Name the right one, or"
                         " restore it." ANEW,
                         cluster, cluster);
    else
        good = same || !known || is_another(pg, cluster);
    disconnect(&a);
    return good;
}

bool cluster_record_keep(struct pg *pg, const struct cluster_home *home,
                         const struct pg_identity *store)
{
    struct asking a;
    int at = 0;
    if (pg_store_id_eq(home->record, &store->id))
        return true;
    bool good = connect_home(&a, home);
    if (good) {
        pg_begin(&a.pg, false);
        args_str(pg_args(&a.pg), PG_BYTEA,
                 (struct str){(const char *)store->id.bytes, sizeof store->id.bytes});
        args_int(&a.pg.args, PG_INT4, store->cluster);
        pg_query(&a.pg, "INSERT INTO meta SELECT 'cluster_'||$2,$1 ON CONFLICT(name) DO NOTHING");
        at = ask(&a.pg, store->cluster);
        pg_commit(&a.pg);
        good = pg_sync(&a.pg) == PG_OK;
    }
    if (!good)
        (void)not_asked(pg, &a, store->cluster);
    else if (!read_record(pg_result(&a.pg, at), home->record) ||
             !pg_store_id_eq(home->record, &store->id))
        good = is_another(pg, store->cluster);
    disconnect(&a);
    return good;
}
