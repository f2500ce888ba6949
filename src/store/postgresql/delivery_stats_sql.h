/* Attempts, and counts of them by endpoint (store/delivery_stats.h), in PostgreSQL. */
#pragma once

#include "store/postgresql/postgresql_store.h"

/* Adds attempts, rows of pg_attempt_put, that are new for sure: a repeated one is an error. The
 * caller counts them. */
void pg_add_attempts(struct pg *pg, const struct pg_table *t);
/* Adds those that are new and counts them, so that a group that is repeated after a commit in doubt
 * counts once. Ends the trip. */
MUST_CHECK enum pg_fate pg_add_attempts_again(struct pg *pg, const struct pg_table *t,
                                              struct delivery_stats_rows *count);
/* Adds the counts to the rows of their slots, and to those of the accounts. It sorts `rows` by key,
 * so that the server locks its rows in that order, and ends them: nothing is added until they are
 * cleared. `t`: scratch. */
void pg_add_delivery_stats(struct pg *pg, struct pg_table *t, struct delivery_stats_rows *rows);

/* Merges old slots into longer ones and deletes the oldest; `now_ms` is of the retention clock. */
MUST_CHECK enum pg_fate pg_merge_delivery_stats(struct pg *pg, int64_t now_ms);
enum pg_fate pg_read_delivery_stats(struct postgresql_store *s, struct pg *pg, void *query);
