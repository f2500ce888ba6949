/* The log of changed objects, by which each node learns what other nodes have changed. Revisions
 * are assigned under the lock of one row, so they become visible in order. Audit entries are not in
 * the log, because no node keeps them in memory. */
#pragma once

#include "store/postgresql/postgresql_store.h"

/* Runs first in the transaction of a change: locks the log, and assigns the change its revision if
 * it goes into the log; 0: it does not. STORE_STALE: the change was judged by objects that others
 * may have changed since. *ret_made: an earlier try whose commit was in doubt has stored it. */
MUST_CHECK enum pg_fate change_log_begin(struct postgresql_store *s, struct pg *pg,
                                         struct object_change *change, bool *ret_made);
/* Puts the statements that log the change into the pipeline. */
void change_log_add(struct postgresql_store *s, struct pg *pg, const struct object_change *change);
void change_log_add_erasure(struct postgresql_store *s, struct pg *pg, uint32_t account_no);
/* Tells the watcher of other nodes' erasures that are new in the log; n->erasures_known is the
 * revision of that look. On the nodes' thread. */
MUST_CHECK enum pg_fate change_log_read_erasures(struct pg_nodes *n);
/* Reads what other nodes have changed since the last call. */
enum pg_fate pg_read_change_log(struct postgresql_store *s, struct pg *pg, void *object_feed);
