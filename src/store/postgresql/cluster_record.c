/* Reading and writing the record of clusters: see cluster_record.h. */
#include "store/postgresql/cluster_record.h"

#include "store/postgresql/lone_connection.h"
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
static bool connect_home(struct lone_connection *c, const struct cluster_home *home)
{
    lone_init(c, home->uri);
    c->pg.trip_ms = PG_TRIP_SHORT_MS;
    return lone_connect(c, home->identity);
}

static bool not_asked(struct pg *pg, const struct lone_connection *c, uint32_t cluster)
{
    return pg_refuse(pg, "the first cluster does not say which database cluster %u has: %.*s",
                     cluster, STR_ARG(buf_str(&c->pg.why)));
}

static bool is_another(struct pg *pg, uint32_t cluster)
{
    return pg_refuse(pg,
                     "this is not the database that cluster %u has: its URI leads elsewhere, or"
                     " the database was made anew. Name the right one, or restore it." ANEW,
                     cluster, cluster);
}

static bool is_empty(struct pg *pg, uint32_t cluster)
{
    return pg_refuse(pg,
                     "this database is empty, but cluster %u has one with events: its URI leads"
                     " elsewhere, or the database was made anew. Name the right one, or restore"
                     " it." ANEW,
                     cluster, cluster);
}

/* False: the first cluster does not answer, and home->record is what it said last. */
static bool ask_again(struct lone_connection *c, const struct cluster_home *home, uint32_t cluster)
{
    if (!connect_home(c, home))
        return false;
    pg_begin(&c->pg, true);
    int at = ask(&c->pg, cluster);
    if (pg_end_read(&c->pg) != PG_OK)
        return false;
    (void)read_record(pg_result(&c->pg, at), home->record);
    return true;
}

bool cluster_record_allows(struct pg *pg, const struct cluster_home *home, uint32_t cluster,
                           const struct pg_identity *store)
{
    struct lone_connection c;
    bool is_asked = ask_again(&c, home, cluster), good = true;
    bool known = pg_store_id_is_set(home->record);
    bool same = known && store && pg_store_id_eq(home->record, &store->id);
    if (!is_asked && !same)
        good = not_asked(pg, &c, cluster);
    else if (known && !same)
        good = store ? is_another(pg, cluster) : is_empty(pg, cluster);
    lone_close(&c);
    return good;
}

/* Unless one is recorded; then home->record is that. */
static bool record(struct lone_connection *c, const struct cluster_home *home,
                   const struct pg_identity *store)
{
    if (!connect_home(c, home))
        return false;
    pg_begin(&c->pg, false);
    args_str(pg_args(&c->pg), PG_BYTEA,
             (struct str){(const char *)store->id.bytes, sizeof store->id.bytes});
    args_int(&c->pg.args, PG_INT4, store->cluster);
    pg_query(&c->pg, "INSERT INTO meta SELECT 'cluster_'||$2,$1 ON CONFLICT(name) DO NOTHING");
    int at = ask(&c->pg, store->cluster);
    pg_commit(&c->pg);
    return pg_sync(&c->pg) == PG_OK && read_record(pg_result(&c->pg, at), home->record);
}

bool cluster_record_keep(struct pg *pg, const struct cluster_home *home,
                         const struct pg_identity *store)
{
    struct lone_connection c;
    bool good = true;
    if (pg_store_id_eq(home->record, &store->id))
        return true;
    if (!record(&c, home, store))
        good = not_asked(pg, &c, store->cluster);
    else if (!pg_store_id_eq(home->record, &store->id))
        good = is_another(pg, store->cluster);
    lone_close(&c);
    return good;
}
