/* Serves reports and the log of callbacks from a read replica if the operator has configured one.
 * An answer is never older than what was acknowledged before the question.
 *
 * Each such read asks the primary for its WAL position and waits until the replica has replayed it.
 * A replica that takes too long, does not answer or has been promoted is not used until a periodic
 * check finds it good; meanwhile the primary answers, and readers see no error. */
#pragma once

#include "store/postgresql/transaction_retry.h"

struct pg_replica;

/* NULL if no replica is configured; all functions here accept NULL. lag_most_ms: the longest wait
 * of a read. */
struct pg_replica *pg_replica_new(struct postgresql_store *s, const char *uri, int64_t lag_most_ms);
void pg_replica_free(struct pg_replica *r); /* must be stopped */
void pg_replica_start(struct postgresql_store *s);
void pg_replica_stop(struct pg_replica *r);
void pg_replica_get_numbers(struct pg_replica *r, struct store_numbers *ret);

/* Runs a read on the replica. False: nothing was read, and the caller reads from the primary. */
MUST_CHECK bool pg_replica_read(struct pg_reader *reader, enum request_kind kind, pg_work work,
                                void *what);
