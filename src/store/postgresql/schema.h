/* The tables, as numbered steps (migrate.h), and their partitions; docs/postgresql-schema.md says
 * what each table is for. */
#pragma once

#include "store/postgresql/migrate.h"

#define PG_SCHEMA_VERSION 1
extern const struct pg_migration pg_schema_migration;

/* A partition of events and bodies has those accepted in 30 days, one of attempts those made in 7
 * days; both are counted from 1970-01-01. Stored: never to be changed. */
#define PG_PERIOD_DAYS 30
#define PG_WEEK_DAYS 7

/* A partition is called by its table and its number plus this: names that sort, before 1970 too. */
#define PG_PARTITION_NAME 100000

enum pg_partition { PARTITION_PERIOD, PARTITION_WEEK };

int32_t pg_period_of_day(int32_t day);
int32_t pg_week_of_day(int32_t day);

/* What a database must be, or is made to be where nothing is in it yet. */
struct pg_schema_wants {
    const struct hash_secret *fresh;  /* the key of all hashes, where there is none */
    const struct hash_secret *secret; /* what that must be; NULL: any */
    uint32_t cluster;                 /* which of several it is; 0: the first or only one */
};
/* Makes the steps that a start makes and gives the key of all hashes. False: *ret_why is a sentence
 * (malloc'ed). */
MUST_CHECK bool pg_schema_open(struct pg *pg, const struct pg_schema_wants *wants,
                               struct hash_secret *ret_secret, char **ret_why);

/* Rows of `meta` that are there while a copy fills the database (store_copy.h): how far it is, and
 * what its source was like. A start is refused meanwhile. */
#define PG_META_COPY_POSITION "copy_position"
#define PG_META_RETENTION_CLOCK "retention_clock_ms" /* domain/retention.h */
#define PG_META_COPY_MARK "copy_mark"

/* Partitions that are known to be there, of one thread. Zero-initialised is empty. */
struct pg_partitions {
    struct {
        int32_t *numbers;
        size_t count, capacity;
    } known[2];
};
void pg_partitions_free(struct pg_partitions *p);
/* Makes the partition where it is not there; a trip of its own, in no transaction. */
MUST_CHECK enum pg_fate pg_partition_make(struct pg *pg, struct pg_partitions *known,
                                          enum pg_partition kind, int32_t number);
/* Drops the partitions of bodies or of attempts below `first`, whole, but for what is not final. */
MUST_CHECK enum pg_fate pg_partitions_drop(struct pg *pg, enum pg_partition kind, int32_t first);
