/* Asking a database which store it has: see identity.h. */
#include "store/postgresql/identity.h"

#include "base/alloc.h"
#include "store/postgresql/connection.h"

#include <stdlib.h>
#include <string.h>

int pg_identity_ask(struct pg *pg)
{
    return pg_exec(pg, "SELECT value,(SELECT value FROM meta WHERE name='cluster') FROM meta"
                       " WHERE name='hash_secret'");
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
    return true;
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
    pg->hosts = NULL; /* a trip would give up, as the primary is still another server or none */
    pg->refusals = NULL;
    enum pg_identity_found found = look(pg, ret);
    pg->hosts = hosts;
    pg->refusals = refusals;
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
    if (memcmp(&found.secret, &wanted->secret, sizeof found.secret) != 0)
        return xstrdup("its database belongs to another installation");
    if (found.cluster != wanted->cluster)
        return xprintf("its database is cluster %u and not %u", found.cluster, wanted->cluster);
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
