/* Callbacks that one node puts into another node's lanes. */
#pragma once

#include "store/postgresql/pg_row.h"
#include "store/postgresql/postgresql_store.h"

/* Fill a table with rows to write. */
void handover_begin(struct pg_table *t);
void handover_callback(struct pg_table *t, const struct pg_row *row);
/* New callbacks of one lane, at least one, ordered by number: the row has the callbacks
 * themselves. */
void handover_events(struct pg_table *t, const struct event *const *events, size_t count);
/* Puts the INSERT of the writer's rows into the pipeline, if there are any. */
void handover_send(struct pg_writer *writer);
/* After a commit: hands over the writer's callbacks whose lanes are not this node's any more. */
void handover_behind(struct postgresql_store *s, struct pg_writer *writer);

/* For the keeper: what other nodes have put into this node's lanes, and whether objects have
 * changed. */
struct hearing {
    int64_t since_mono_ms; /* when the last successful poll began; 0: there was none */
    int64_t revision;      /* of the change log at that poll */
    bool heard;            /* the last poll found rows */
};
MUST_CHECK enum pg_fate handover_poll(struct postgresql_store *s, struct pg *pg,
                                      struct hearing *last);
/* Reads the lanes of newly claimed shards, and when *due_mono_ms has come, the lanes with late
 * callbacks of all its shards. Moves *due_mono_ms on. */
MUST_CHECK enum pg_fate handover_rescan(struct postgresql_store *s, struct pg *pg,
                                        int64_t *due_mono_ms);
/* The lanes of those shards with a callback due by then. *ret_lanes is malloc'ed in any case. */
MUST_CHECK enum pg_fate handover_backlog(struct pg *pg, const bool shards[SHARDS], int64_t due_ms,
                                         struct lane_backlog **ret_lanes, size_t *ret_count);
