/* The partitions of the tables event, body and attempt. */
#pragma once

#include "store/postgresql/connection.h"

/* A partition of events and bodies covers 30 days of acceptance, one of attempts 7 days; both are
 * counted from 1970-01-01. Stored: never change them. */
#define PG_PERIOD_DAYS 30
#define PG_WEEK_DAYS 7

/* A partition's name is its table and its number plus this, so that names sort, even before
 * 1970. */
#define PG_PARTITION_NAME 100000

enum pg_partition { PARTITION_PERIOD, PARTITION_WEEK };

int32_t pg_period_of_day(int32_t day);
int32_t pg_week_of_day(int32_t day);

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
