/* A connection for one question or command, apart from those of an open store. */
#pragma once

#include "store/postgresql/connection.h"

/* Not to be moved while it is in use: pg points into it. */
struct lone_connection {
    struct pg pg;
    struct pg_hosts hosts;
    struct pg_identity there;
};

void lone_init(struct lone_connection *c, const char *uri);
/* Connects to the server of the URI that has that store; wanted NULL: that has any, and if none has
 * one, to the one that can be written. Blocks for seconds. False: c->pg.why is a sentence. */
MUST_CHECK bool lone_connect(struct lone_connection *c, const struct pg_identity *wanted);
/* In either case. */
void lone_close(struct lone_connection *c);

/* Whether the database of a URI has a store. Blocks for seconds. */
enum pg_identity_found lone_find_store(const char *uri);
