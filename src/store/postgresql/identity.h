/* Which store a database has. A URI may name several servers, a name may come to mean another one,
 * and a new server is empty until a move has filled it: a connection that reached another database
 * than the store was opened with would acknowledge events there. So each connection asks first. */
#pragma once

#include "base/check.h"
#include "base/hash.h"
#include "base/str.h"

#include <libpq-fe.h>
#include <stdbool.h>

struct pg;

/* Random, of one database: made with its store, and the same in its restored or moved copies. All
 * 0: none, in a database that no daemon of this version has opened yet. */
struct pg_store_id {
    unsigned char bytes[16];
};
/* False: that is no id. */
bool pg_store_id_read(struct str value, struct pg_store_id *ret);
bool pg_store_id_eq(const struct pg_store_id *a, const struct pg_store_id *b);
bool pg_store_id_is_set(const struct pg_store_id *id);

struct pg_identity {
    struct hash_secret secret; /* of the installation */
    uint32_t cluster;          /* 0: the first or only one */
    struct pg_store_id id;
};

bool pg_identity_eq(const struct pg_identity *a, const struct pg_identity *b);

/* Puts the question into the pipeline. */
int pg_identity_ask(struct pg *pg);
/* False: there is no store, or its row is damaged. */
MUST_CHECK bool pg_identity_read(const PGresult *r, struct pg_identity *ret);

enum pg_identity_found { IDENTITY_NONE, IDENTITY_FOUND, IDENTITY_UNKNOWN };
/* Asks a connection that is in no transaction. IDENTITY_NONE: the database has no store.
 * IDENTITY_UNKNOWN: it did not say; pg->why is a sentence. */
enum pg_identity_found pg_identity_look(struct pg *pg, struct pg_identity *ret);
/* True if the connection has reached that store. False: a sentence is added to pg->why. */
MUST_CHECK bool pg_identity_is(struct pg *pg, const struct pg_identity *wanted);

/* Looks which of the URI's servers has a store, if it names several. An empty database among them
 * may be the one that a move is to fill, while the store is on another: tables may be made only
 * once each server has said that it has no store. Waits 10 s for those that do not answer, if one
 * does. False: none has said that it has one, and one did not answer; pg->why is a sentence. */
MUST_CHECK bool pg_find_store(struct pg *pg, struct pg_identity *ret, bool *ret_found);
