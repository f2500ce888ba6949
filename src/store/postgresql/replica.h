/* Reports and the log from a read replica, if the operator has named one: never older than what was
 * acknowledged when they were asked for.
 *
 * Each such read first asks the primary up to where its log is written, and then waits until the
 * replica has replayed that. A replica that needs longer than it may, that does not answer or is no
 * replica any more (promoted) is not waited for again until a look from time to time finds it good:
 * reads go to the primary meanwhile, and nobody who reads sees an error for it. */
#pragma once

#include "store/postgresql/connection.h"
#include "store/queue.h"

struct postgresql_store;
struct pg_reader;
struct pg_replica;

/* NULL: none was named, which all functions here take. lag_most_ms: how long a read may wait. */
struct pg_replica *pg_replica_new(const char *uri, const char *primary_uri, int64_t lag_most_ms);
void pg_replica_free(struct pg_replica *r); /* stopped */
void pg_replica_start(struct postgresql_store *s);
void pg_replica_stop(struct pg_replica *r);
void pg_replica_get_numbers(struct pg_replica *r, struct store_numbers *ret);

/* Does a read of that kind at the replica. False: it is to be done at the primary, and nothing of
 * it is done. */
typedef enum pg_fate (*pg_read_work)(struct postgresql_store *s, struct pg *pg, void *what);
MUST_CHECK bool pg_replica_read(struct pg_reader *reader, enum request_kind kind, pg_read_work work,
                                void *what);
