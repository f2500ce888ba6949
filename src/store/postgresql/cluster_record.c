/* Reading and writing the record of clusters: see cluster_record.h. */
#include "store/postgresql/cluster_record.h"

#include "base/alloc.h"
#include "store/postgresql/connection.h"
#include "store/postgresql/pg_migrate.h"

#include <stdlib.h>
#include <string.h>

#define ANEW                                                                                       \
    " If its database is lost for good and the cluster is to begin anew, delete the row of table"  \
    " meta in the first cluster's database: DELETE FROM meta WHERE name='cluster_%u'"

int cluster_record_ask(struct pg *home, uint32_t cluster)
{
    return pg_exec_f(home, "SELECT value FROM meta WHERE name='cluster_%u'", cluster);
}

bool cluster_record_read(const PGresult *r, struct pg_store_id *ret)
{
    *ret = (struct pg_store_id){0};
    return PQntuples(r) == 1 && pg_store_id_read(pg_str(r, 0, 0), ret);
}

bool cluster_records_load(struct pg *home, struct pg_store_id ret[CLUSTERS_MOST])
{
    int at[CLUSTERS_MOST];
    pg_begin(home, true);
    for (uint32_t i = 1; i < CLUSTERS_MOST; i++)
        at[i] = cluster_record_ask(home, i);
    if (pg_end_read(home) != PG_OK)
        return false;
    for (size_t i = 1; i < CLUSTERS_MOST; i++)
        (void)cluster_record_read(pg_result(home, at[i]), &ret[i]);
    return true;
}

/* A connection of its own, because the cluster is opened on another thread than its home. */
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
    if (store && pg_store_id_eq(home->record, &store->id) && pg_store_id_is(home->record))
        return true;
    bool good = connect_home(&a, home);
    if (good)
        pg_begin(&a.pg, true);
    int at = good ? cluster_record_ask(&a.pg, cluster) : 0;
    good = good && pg_end_read(&a.pg) == PG_OK;
    bool known = good && cluster_record_read(pg_result(&a.pg, at), home->record);
    if (!good)
        (void)not_asked(pg, &a, cluster);
    else if (known && !store)
        good = pg_refuse(pg,
                         "this database is empty, but cluster %u has one with events: its URI"
                         " leads elsewhere, or the database was made anew. Name the right one, or"
                         " restore it." ANEW,
                         cluster, cluster);
    else if (known && !pg_store_id_eq(home->record, &store->id))
        good = is_another(pg, cluster);
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
        at = cluster_record_ask(&a.pg, store->cluster);
        pg_commit(&a.pg);
        good = pg_sync(&a.pg) == PG_OK;
    }
    if (!good)
        (void)not_asked(pg, &a, store->cluster);
    else if (!cluster_record_read(pg_result(&a.pg, at), home->record) ||
             !pg_store_id_eq(home->record, &store->id))
        good = is_another(pg, store->cluster);
    disconnect(&a);
    return good;
}
