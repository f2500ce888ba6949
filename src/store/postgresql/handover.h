/* Between nodes: lanes of other nodes that this one has put something into, and the other way
 * round. */
#pragma once

#include "store/postgresql/postgresql_store.h"
#include "store/postgresql/row.h"

/* Rows to be written. */
void handover_begin(struct pg_table *t);
void handover_callback(struct pg_table *t, const struct pg_row *row);
/* New ones of one lane, at least one, in the order of their numbers: with their callbacks. */
void handover_events(struct pg_table *t, const struct event *const *events, size_t count);
/* Puts the statement into the pipeline, where there are any. */
void handover_send(struct postgresql_store *s, struct pg *pg, const struct pg_table *t);
/* Behind a commit: what is owed in lanes that are not this node's any more goes to the others. */
void handover_behind(struct postgresql_store *s, struct pg_side *side);

/* The keeper's: what others have put into this node's lanes, and whether they have changed
 * objects. */
struct hearing {
    int64_t since_mono_ms; /* when the last look that succeeded began; 0: there was none */
    int64_t revision;      /* and what it saw of the objects' log */
    bool heard;            /* the latest look found something */
};
MUST_CHECK enum pg_fate handover_poll(struct postgresql_store *s, struct pg *pg,
                                      struct hearing *last);
/* Looks through the lanes of shards that were claimed, and at *due_mono_ms, which it moves, for
 * what is late in all. */
MUST_CHECK enum pg_fate handover_rescan(struct postgresql_store *s, struct pg *pg,
                                        int64_t *due_mono_ms);
/* Lanes of those shards that have something due by then. *ret_lanes is malloc'ed in any case. */
MUST_CHECK enum pg_fate handover_backlog(struct pg *pg, const bool shards[SHARDS], int64_t due_ms,
                                         struct lane_backlog **ret_lanes, size_t *ret_count);
