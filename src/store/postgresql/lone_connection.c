/* Opening and closing a lone connection: see lone_connection.h. */
#include "store/postgresql/lone_connection.h"

#include "store/postgresql/pg_connect.h"

void lone_init(struct lone_connection *c, const char *uri)
{
    pg_init(&c->pg, uri);
    pg_hosts_init(&c->hosts, uri);
    c->pg.hosts = &c->hosts;
}

bool lone_connect(struct lone_connection *c, const struct pg_identity *wanted)
{
    bool found;
    if (!wanted && !pg_find_store(&c->pg, &c->there, &found))
        return false;
    if (!wanted && found)
        wanted = &c->there;
    c->pg.identity = wanted;
    return pg_connect(&c->pg);
}

void lone_close(struct lone_connection *c)
{
    pg_close(&c->pg);
    pg_hosts_free(&c->hosts);
}

enum pg_identity_found lone_find_store(const char *uri)
{
    struct lone_connection c;
    struct pg_identity store;
    lone_init(&c, uri);
    enum pg_identity_found found =
        lone_connect(&c, NULL) ? pg_identity_look(&c.pg, &store) : IDENTITY_UNKNOWN;
    lone_close(&c);
    return found;
}
