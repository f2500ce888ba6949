/* Asking a database which store it has: see identity.h. */
#include "store/postgresql/identity.h"

#include "base/alloc.h"
#include "store/postgresql/connection.h"
#include "store/postgresql/pg_connect.h"
#include "store/postgresql/pg_migrate.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define FIND_PATIENCE_MS 10000
#define FIND_AGAIN_MS 250

int pg_identity_ask(struct pg *pg)
{
    return pg_exec(pg, "SELECT value,(SELECT value FROM meta WHERE name='cluster'),"
                       "(SELECT value FROM meta WHERE name='store_id') FROM meta"
                       " WHERE name='hash_secret'");
}

bool pg_store_id_read(struct str value, struct pg_store_id *ret)
{
    *ret = (struct pg_store_id){0};
    if (value.n != sizeof ret->bytes)
        return false;
    memcpy(ret->bytes, value.p, value.n);
    return true;
}

bool pg_store_id_eq(const struct pg_store_id *a, const struct pg_store_id *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool pg_store_id_is_set(const struct pg_store_id *id)
{
    return !pg_store_id_eq(id, &(struct pg_store_id){0});
}

bool pg_identity_read(const PGresult *r, struct pg_identity *ret)
{
    if (PQntuples(r) != 1)
        return false;
    struct str secret = pg_str(r, 0, 0), cluster = pg_str(r, 0, 1);
    if (secret.n != sizeof ret->secret.bytes)
        return false;
    memcpy(ret->secret.bytes, secret.p, secret.n);
    ret->cluster = cluster.n == 1 ? (unsigned char)cluster.p[0] : 0;
    (void)pg_store_id_read(pg_str(r, 0, 2), &ret->id);
    return true;
}

bool pg_identity_eq(const struct pg_identity *a, const struct pg_identity *b)
{
    return hash_secret_eq(&a->secret, &b->secret) && a->cluster == b->cluster &&
           pg_store_id_eq(&a->id, &b->id);
}

static enum pg_identity_found look(struct pg *pg, struct pg_identity *ret)
{
    pg_begin(pg, true);
    int at = pg_identity_ask(pg);
    enum pg_fate fate = pg_end_read(pg);
    if (fate == PG_OK)
        return pg_identity_read(pg_result(pg, at), ret) ? IDENTITY_FOUND : IDENTITY_NONE;
    bool is_empty = fate == PG_REFUSED && strcmp(pg->sqlstate, "42P01") == 0; /* undefined_table */
    return is_empty ? IDENTITY_NONE : IDENTITY_UNKNOWN;
}

enum pg_identity_found pg_identity_look(struct pg *pg, struct pg_identity *ret)
{
    struct pg_hosts *hosts = pg->hosts;
    struct pg_refusals *refusals = pg->refusals;
    int64_t trip_ms = pg->trip_ms;
    pg->hosts = NULL; /* a trip would give up, as the primary is still another server or none */
    pg->refusals = NULL;
    if (trip_ms > PG_CONNECT_TIMEOUT_S * 1000) /* a pooler answers for a server that is away */
        pg->trip_ms = PG_CONNECT_TIMEOUT_S * 1000;
    enum pg_identity_found found = look(pg, ret);
    pg->hosts = hosts;
    pg->refusals = refusals;
    pg->trip_ms = trip_ms;
    return found;
}

/* NULL: it has that store. */
static char *why_not(struct pg *pg, const struct pg_identity *wanted)
{
    struct pg_identity found;
    enum pg_identity_found is = pg_identity_look(pg, &found);
    if (is == IDENTITY_UNKNOWN)
        return xstrdup(buf_c(&pg->why));
    if (is == IDENTITY_NONE)
        return xstrdup("its database has no store yet");
    if (!hash_secret_eq(&found.secret, &wanted->secret))
        return xstrdup("its database belongs to another installation");
    if (found.cluster != wanted->cluster)
        return xprintf("its database is cluster %u and not %u", found.cluster, wanted->cluster);
    if (pg_store_id_is_set(&wanted->id) && !pg_store_id_eq(&found.id, &wanted->id))
        return xstrdup("its database is another one than before: it was made anew, or the URI leads"
                       " elsewhere");
    return NULL;
}

bool pg_identity_is(struct pg *pg, const struct pg_identity *wanted)
{
    char *server = xprintf("%s port %s", PQhost(pg->connection), PQport(pg->connection));
    struct buf before = pg->why; /* why other servers did not do */
    pg->why = (struct buf){0};
    char *why = why_not(pg, wanted);
    buf_free(&pg->why);
    pg->why = before;
    if (why)
        buf_printf(&pg->why, "%s%s: %s", before.n > 0 ? " " : "", server, why);
    (void)buf_c(&pg->why);
    bool is = !why;
    free(why);
    free(server);
    return is;
}

/* --- several servers -------------------------------------------------------------------------- */

/* Asks each server once. Returns how many have answered; silent: why the others have not. */
static int ask_servers(struct pg *pg, struct pg_identity *ret, bool *ret_found, struct buf *silent)
{
    int answered = 0;
    buf_clear(silent);
    for (int i = 0; pg->hosts && i < pg->hosts->count && !*ret_found; i++) {
        enum pg_identity_found found =
            pg_connect_to_host(pg, i) ? pg_identity_look(pg, ret) : IDENTITY_UNKNOWN;
        *ret_found = found == IDENTITY_FOUND;
        answered += found != IDENTITY_UNKNOWN;
        if (found == IDENTITY_UNKNOWN)
            buf_printf(silent, "%s%s", silent->n > 0 ? " " : "", buf_c(&pg->why));
    }
    return answered;
}

bool pg_find_store(struct pg *pg, struct pg_identity *ret, bool *ret_found)
{
    struct buf silent = {0};
    int64_t until_ms = env_mono_ms(env_real()) + FIND_PATIENCE_MS;
    *ret_found = false;
    /* a standby may be starting, too */
    while (ask_servers(pg, ret, ret_found, &silent) > 0 && !*ret_found && silent.n > 0 &&
           env_mono_ms(env_real()) < until_ms)
        (void)poll(NULL, 0, FIND_AGAIN_MS);
    pg_close(pg);
    bool good = *ret_found || silent.n == 0;
    if (!good)
        (void)pg_refuse(pg,
                        "no server of the URI that answers has a store, and one that does not"
                        " answer may have it. For the first start, name only the server that the"
                        " store is to be on. %s",
                        buf_c(&silent));
    buf_free(&silent);
    return good;
}
