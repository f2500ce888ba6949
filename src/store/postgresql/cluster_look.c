/* See cluster_look.h. One look is a few cheap statements: sizes come from the file system, events
 * from the counters of each account and from reports of the last two days. */
#include "store/postgresql/cluster_look.h"

#include "store/postgresql/disk_room.h"
#include "store/postgresql/lone_connection.h"
#include "store/postgresql/pg_connect.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- the server in use ------------------------------------------------------------------------ */

static void print_server(char ret[CLUSTER_SERVER_BYTES], const struct pg *pg)
{
    const char *host = PQhost(pg->connection), *port = PQport(pg->connection);
    bool is_v6 = host && strchr(host, ':');
    snprintf(ret, CLUSTER_SERVER_BYTES, "%s%s%s:%s", is_v6 ? "[" : "", host ? host : "",
             is_v6 ? "]" : "", port ? port : "");
}

static const char figures_query[] =
    "SELECT (SELECT coalesce(sum(last_event_no),0) FROM account)::bigint,"
    "(SELECT coalesce(sum(pending),0) FROM total)::bigint,"
    "(SELECT coalesce(sum(r.events),0) FROM account a CROSS JOIN LATERAL"
    " (SELECT sum(live_events+test_events) AS events FROM report r WHERE r.account_no=a.account_no"
    " AND day>=floor(extract(epoch FROM now())/86400)::int-1) r)::bigint";

static bool look_at_figures(struct pg *pg, struct cluster_state *ret)
{
    pg_begin(pg, true);
    int at = pg_exec(pg, figures_query);
    enum pg_fate fate = pg_end_read(pg);
    if (fate != PG_OK)
        return fate == PG_REFUSED;
    const PGresult *r = pg_result(pg, at);
    ret->events = pg_int(r, 0, 0);
    ret->waiting = pg_int(r, 0, 1);
    ret->recent_events = pg_int(r, 0, 2);
    return true;
}

/* Until the follower is seen. A command has its lock before it makes the slot. */
static bool look_at_move(struct pg *pg, struct cluster_state *ret, struct pg_move_facts *facts)
{
    if (!pg_move_look(pg, facts))
        return false;
    ret->move = (struct move_state){
        .step = *facts->follower  ? MOVE_UNSEEN
                : facts->lock_pid ? MOVE_BEGINNING
                                  : MOVE_NONE,
        .is_commanded = facts->lock_pid != 0,
    };
    struct str system = str_of(facts->identity);
    system = str_cut(&system, '_');
    snprintf(ret->system, sizeof ret->system, "%.*s", STR_ARG(system));
    return pg_move_lag(pg, facts->follower, &ret->move);
}

bool pg_cluster_look(struct pg *pg, struct cluster_state *ret, struct pg_move_facts *ret_facts)
{
    *ret = cluster_state_unknown(ret->number);
    if (!look_at_move(pg, ret, ret_facts) || !look_at_figures(pg, ret) || !pg->connection)
        return false;
    ret->bytes = ret->move.bytes;
    print_server(ret->server, pg);
    snprintf(ret->database, sizeof ret->database, "%s", PQdb(pg->connection));
    return true;
}

/* --- the follower ----------------------------------------------------------------------------- */

/* A short look at one of the URI's servers. */
struct host_look {
    struct pg_hosts hosts;
    struct pg pg;
    struct pg_move_facts facts;
};

/* False: it did not answer. */
static bool look_at_host(struct host_look *h, const struct pg *like, int host)
{
    const struct pg_hosts *all = like->hosts;
    *h = (struct host_look){.hosts.primary = -1};
    pg_init(&h->pg, like->uri);
    h->pg.server = "any";
    h->pg.trip_ms = PG_TRIP_SHORT_MS;
    h->pg.give_up_mono_ms = like->give_up_mono_ms;
    if (all && all->count > 0) {
        h->hosts.count = 1;
        h->hosts.hosts[0].name = all->hosts[host].name;
        h->hosts.hosts[0].address = all->hosts[host].address;
        h->hosts.hosts[0].port = all->hosts[host].port;
        h->pg.hosts = &h->hosts;
    }
    return pg_connect(&h->pg) && pg_move_look(&h->pg, &h->facts);
}

static bool is_follower(struct host_look *h, const char *follower, struct move_state *ret)
{
    if (strcmp(h->facts.identity, follower) != 0)
        return false;
    if (!h->facts.subscribed)
        ret->step = MOVE_BEGINNING;
    else if (!pg_move_progress(&h->pg, ret))
        return false;
    print_server(ret->server, &h->pg);
    return true;
}

bool pg_cluster_look_at_follower(const struct pg *pg, const char *follower, struct move_state *ret)
{
    bool found = false;
    for (int i = 0; !found && pg->hosts && i < pg->hosts->count; i++) {
        struct host_look h;
        if (i == pg->host)
            continue;
        found = look_at_host(&h, pg, i) && is_follower(&h, follower, ret);
        pg_close(&h.pg);
    }
    return found;
}

/* --- without a store -------------------------------------------------------------------------- */

static void set_away(struct cluster_state *c, const char *why)
{
    snprintf(c->away, sizeof c->away, "%s", why);
}

/* Why no server takes writes, where the reason is a move. */
static void explain(const struct pg *pg, struct cluster_state *ret)
{
    int servers = pg->hosts->count > 0 ? pg->hosts->count : 1, fenced = 0;
    bool is_commanded = false;
    for (int i = 0; i < servers; i++) {
        struct host_look h;
        if (look_at_host(&h, pg, i) && h.facts.fenced) {
            fenced++;
            is_commanded |= h.facts.lock_pid != 0;
        }
        pg_close(&h.pg);
    }
    if (fenced < servers)
        set_away(ret, pg->why.p);
    else if (servers == 1)
        set_away(ret, "it was moved to another server, which the URI does not name");
    else
        set_away(ret, is_commanded
                          ? "a move switches"
                          : "a move was stopped in the switch: run the same postbackd move again");
}

/* Which store a database has, where it says so. */
struct cluster_place {
    bool known;
    struct pg_identity identity;
};

/* What the first cluster's database says. */
struct cluster_first {
    struct cluster_place place;
    struct pg_store_id records[CLUSTERS_MOST]; /* which store each further cluster has */
};

static bool has_unfinished_copy(struct pg *pg)
{
    pg_begin(pg, true);
    int at = pg_exec(pg, "SELECT " PG_COPY_IS_UNFINISHED);
    return pg_end_read(pg) == PG_OK && pg_int(pg_result(pg, at), 0, 0);
}

/* Says in c->away if the database has no store, or not all of it. */
static void read_place(struct pg *pg, struct cluster_state *c, bool has_record,
                       struct cluster_place *ret)
{
    enum pg_identity_found found = pg_identity_look(pg, &ret->identity);
    ret->known = found == IDENTITY_FOUND;
    if (found == IDENTITY_NONE)
        set_away(c, has_record
                        ? "its database is empty, but the cluster has one with events: the URI"
                          " leads elsewhere, or the database was made anew"
                        : "there is no store in this database yet: a server makes it when it"
                          " starts");
    else if (ret->known && has_unfinished_copy(pg))
        set_away(c, "a copy into this database is not finished: run the same `postbackd copy`"
                    " again");
}

/* NULL: it may be the cluster's. */
static const char *why_not_its(uint32_t cluster, const struct cluster_place *own,
                               const struct cluster_first *first)
{
    if (first->place.known && !hash_secret_eq(&own->identity.secret, &first->place.identity.secret))
        return "its database belongs to another installation than cluster 0";
    if (pg_store_id_is_set(&first->records[cluster]) &&
        !pg_store_id_eq(&own->identity.id, &first->records[cluster]))
        return "its database is not the one that the cluster has: the URI leads elsewhere, or the"
               " database was made anew";
    return NULL;
}

/* The figures that were read are none of this cluster's, or of no use. Partners are the first
 * cluster's. */
static void replace_by_away(struct cluster_state *c, const char *why)
{
    int64_t partners = c->partners;
    *c = cluster_state_away(c->number, why);
    c->partners = partners;
}

static void check_place(struct cluster_state *c, const struct cluster_place *own,
                        const struct cluster_first *first)
{
    char order[160];
    if (!own->known)
        return;
    const char *why = why_not_its(c->number, own, first);
    if (own->identity.cluster != c->number) {
        snprintf(order, sizeof order,
                 "its database is cluster %u of an installation: name the clusters in their order",
                 own->identity.cluster);
        why = order;
    }
    if (why)
        replace_by_away(c, why);
}

static void count_partners(struct pg *pg, struct cluster_state *clusters, size_t count)
{
    pg_begin(pg, true);
    int at = pg_exec_f(pg,
                       "SELECT coalesce((document::json->>'Cluster')::bigint,0),count(*)"
                       " FROM object WHERE kind=%d GROUP BY 1",
                       OBJECT_PARTNER);
    if (pg_end_read(pg) != PG_OK)
        return;
    const PGresult *r = pg_result(pg, at);
    for (size_t i = 0; i < count; i++)
        clusters[i].partners = 0;
    for (int row = 0; row < PQntuples(r); row++)
        if (pg_int(r, row, 0) < (int64_t)count)
            clusters[pg_int(r, row, 0)].partners = pg_int(r, row, 1);
}

/* As daemons find it: one whose disk is full can be read but not written. */
static void check_room(struct pg *pg, struct cluster_state *c)
{
    if (pg_room_is_full(pg))
        replace_by_away(c, "its disk is full");
}

/* PG_REFUSED in a look at rows is a role that may not read them. */
static void look_at(struct pg *pg, struct cluster_state *all, size_t count, size_t which,
                    struct cluster_first *first)
{
    struct cluster_state *c = &all[which];
    struct pg_move_facts facts;
    struct cluster_place own = {0};
    read_place(pg, c, pg_store_id_is_set(&first->records[which]), &own);
    if (*c->away)
        return;
    int64_t partners = c->partners;
    if (!pg_cluster_look(pg, c, &facts))
        set_away(c, buf_c(&pg->why));
    else if (c->move.step == MOVE_UNSEEN)
        (void)!pg_cluster_look_at_follower(pg, facts.follower, &c->move);
    c->partners = partners;
    if (which == 0)
        first->place = own;
    check_place(c, &own, first);
    if (!*c->away)
        check_room(pg, c);
    if (which == 0 && own.known && own.identity.cluster == 0) {
        count_partners(pg, all, count);
        (void)!cluster_records_load(pg, first->records);
    }
}

static void look(const char *uri, struct cluster_state *all, size_t count, size_t which,
                 struct cluster_first *first)
{
    struct lone_connection lone;
    lone_init(&lone, uri);
    if (lone_connect(&lone, NULL))
        look_at(&lone.pg, all, count, which, first);
    else
        explain(&lone.pg, &all[which]);
    lone_close(&lone);
}

void postgresql_clusters_look(const char *const *uris, size_t count, struct cluster_state *ret)
{
    struct cluster_first first = {0};
    for (size_t i = 0; i < count; i++)
        ret[i] = cluster_state_unknown((uint32_t)i);
    for (size_t i = 0; i < count; i++) {
        PQconninfoOption *options = PQconninfoParse(uris[i], NULL);
        if (options)
            look(uris[i], ret, count, i, &first);
        else
            set_away(&ret[i], "its URI cannot be read"); /* libpq's words may have the password */
        PQconninfoFree(options);
    }
}
