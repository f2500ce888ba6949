/* The tables, as numbered steps (pg_migrate.h); docs/postgresql-schema.md describes each table. */
#pragma once

#include "store/postgresql/cluster_record.h"
#include "store/postgresql/pg_migrate.h"

#define PG_SCHEMA_VERSION 1
extern const struct pg_migration pg_schema_migration;

/* SQL: what the indexes of events by panelist begin with; `no` is the account's or the app's
 * number. Hashes may meet, so a condition names the panelist beside it. Stored: never change it. */
#define PG_PANELIST_HASH(panelist_id, no) "(hashtext(" panelist_id ")#" no ")"

/* SQL: runs of an account's events; lists of a day go by these, then by number. Stored: never
 * change it. */
#define PG_EVENT_RUN(event_no) "(" event_no "/256)"

/* What the database must be, or becomes if it is empty. */
struct pg_schema_wants {
    const struct hash_secret *fresh; /* the hash secret of a new database */
    const struct cluster_home *home; /* NULL: it is the first or only cluster */
    uint32_t cluster;                /* its number; 0: the first or only cluster */
    const char *const *others;       /* URIs of the further clusters, of the first one */
    size_t other_count;
};
/* Runs the expand steps and reads or makes the store's identity. False: *ret_why is a sentence
 * (malloc'ed). */
MUST_CHECK bool pg_schema_open(struct pg *pg, const struct pg_schema_wants *wants,
                               struct pg_identity *ret, char **ret_why);

/* Rows of `meta` while a copy fills the database (store_copy.h): its position, and its source's
 * mark. A daemon refuses to start meanwhile. */
#define PG_META_COPY_POSITION "copy_position"
#define PG_META_COPY_MARK "copy_mark"
/* SQL: whether that is so. */
#define PG_COPY_IS_UNFINISHED "EXISTS(SELECT FROM meta WHERE name='" PG_META_COPY_POSITION "')"

#define PG_META_RETENTION_CLOCK "retention_clock_ms" /* domain/retention_clock.h */

/* The name of everything that a move of the database makes in it (store_move.h). */
#define PG_MOVE_NAME "postbackd_move"
