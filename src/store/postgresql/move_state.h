/* What a database shows of a move (store_move.h), to the move itself and to everybody who looks on:
 * these questions need no rights beyond connecting. False: pg->why says why. */
#pragma once

#include "store/cluster_state.h"
#include "store/postgresql/connection.h"
#include "store/postgresql/pg_schema.h"

#define PG_MOVE_LOCK 0x6d6f7665 /* the advisory lock's number: "move" */
/* SQL: the subscription of this database. */
#define PG_MOVE_SUBSCRIPTION                                                                       \
    "subname='" PG_MOVE_NAME "' AND subdbid=(SELECT oid FROM pg_database"                          \
    " WHERE datname=current_database())"

struct pg_move_facts {
    char identity[48]; /* of the database: the server's identifier and its number there */
    char follower[48]; /* of the one that a slot is kept for; empty: there is no slot */
    int64_t lock_pid;  /* the server's process of a running command; 0: none runs */
    bool fenced, published, subscribed;
};
MUST_CHECK bool pg_move_look(struct pg *pg, struct pg_move_facts *ret);
/* At a server that follows: sets step, tables_done, tables, bytes_done and errors. The step is
 * MOVE_SWITCHED if it follows without having copied. */
MUST_CHECK bool pg_move_progress(struct pg *pg, struct move_state *ret);
/* At the server in use: sets bytes and behind_bytes. */
MUST_CHECK bool pg_move_lag(struct pg *pg, const char *follower, struct move_state *ret);
