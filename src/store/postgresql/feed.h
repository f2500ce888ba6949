/* The log of changed objects, by which each node learns what the others have changed. Numbers are
 * given under one row's lock, so they become visible in their order. The audit log is not in it:
 * nobody keeps that in memory. */
#pragma once

#include "store/postgresql/postgresql_store.h"

/* In the transaction of a change, first: locks the log where the change goes into it, and gives the
 * change its revision there; 0: the log has none of it. STORE_STALE: it was judged, and others have
 * changed what it may have been judged by. *ret_made: it was made by a try whose commit was in
 * doubt, under that revision. */
MUST_CHECK enum pg_fate feed_begin(struct postgresql_store *s, struct pg *pg,
                                   struct object_change *change, bool *ret_made);
/* Statements that put it into the log. */
void feed_log(struct postgresql_store *s, struct pg *pg, const struct object_change *change);
void feed_log_erasure(struct postgresql_store *s, struct pg *pg, uint32_t account_no);
