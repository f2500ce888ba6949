/* The tables, as numbered steps (pg_migrate.h), and their partitions; docs/postgresql-schema.md
 * describes each table. */
#pragma once

#include "store/postgresql/cluster_record.h"
#include "store/postgresql/pg_migrate.h"

#define PG_SCHEMA_VERSION 1
extern const struct pg_migration pg_schema_migration;

/* A partition of events and bodies covers 30 days of acceptance, one of attempts 7 days; both are
 * counted from 1970-01-01. Stored: never change them. */
#define PG_PERIOD_DAYS 30
#define PG_WEEK_DAYS 7

/* A partition's name is its table and its number plus this, so that names sort, even before
 * 1970. */
#define PG_PARTITION_NAME 100000

/* SQL: what the indexes of events by panelist begin with; `no` is the account's or the app's
 * number. Hashes may meet, so a condition names the panelist beside it. Stored: never change it. */
#define PG_PANELIST_HASH(panelist_id, no) "(hashtext(" panelist_id ")#" no ")"

/* SQL: runs of an account's events; lists of a day go by these, then by number. Stored: never
 * change it. */
#define PG_EVENT_RUN(event_no) "(" event_no "/256)"

enum pg_partition { PARTITION_PERIOD, PARTITION_WEEK };

int32_t pg_period_of_day(int32_t day);
int32_t pg_week_of_day(int32_t day);

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

/* Partitions that a thread knows to exist. Zero-initialised it is empty. */
struct pg_partitions {
    struct {
        int32_t *numbers;
        size_t count, capacity;
    } known[2];
};
void pg_partitions_free(struct pg_partitions *p);
/* Makes the partition if it is missing, in a transaction of its own; no transaction may be open. */
MUST_CHECK enum pg_fate pg_partition_make(struct pg *pg, struct pg_partitions *known,
                                          enum pg_partition kind, int32_t number);
/* Drops whole partitions of bodies below `first`, but those with a callback that is not final, or
 * that became final late on that day or afterwards (domain/retention.h). */
MUST_CHECK enum pg_fate pg_bodies_drop(struct pg *pg, int32_t first, int32_t final_from_day);
/* Drops whole partitions of attempts below `first`, but keeps what is not final. Kept attempts
 * whose callback is final by now move to the week `now`, whose partition exists. */
MUST_CHECK enum pg_fate pg_attempts_drop(struct pg *pg, int32_t first, int32_t now);
/* Makes each partition that the other database has. False: pg->why is a sentence. */
MUST_CHECK bool pg_partitions_match(struct pg *pg, struct pg *other, struct pg_partitions *known);
