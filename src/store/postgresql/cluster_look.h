/* Reads the state of a cluster (store/cluster_state.h). */
#pragma once

#include "store/postgresql/move_state.h"

/* At the server in use. False: it did not answer. What the role may not read is CLUSTER_UNKNOWN;
 * the partners are known to the first cluster only. After MOVE_UNSEEN ask the next function for
 * ret_facts->follower. */
MUST_CHECK bool pg_cluster_look(struct pg *pg, struct cluster_state *ret,
                                struct pg_move_facts *ret_facts);
/* Looks for the follower at the URI's other servers than the one that `pg` is connected to, and
 * completes the move's state. Blocks, for at most a few seconds at each. False: it was not found.
 */
MUST_CHECK bool pg_cluster_look_at_follower(const struct pg *pg, const char *follower,
                                            struct move_state *ret);
