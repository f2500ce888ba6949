/* One of the two servers of a move (store_move.h), and what PostgreSQL's own means do there.
 *
 * Everything that a move makes in a database is named `postbackd_move`: a schema with the mark and
 * the fence, the publication of the store's tables, and the subscription of the side that follows.
 * These objects are the only state of a move, so a killed command finds out where it was.
 *
 * The fence keeps daemons from writing: a trigger on each table, which does not fire for replicated
 * rows, and default_transaction_read_only, which lets daemons look for another server. A new
 * fence's locks wait for all transactions that write, so what comes after it in the WAL is nothing.
 *
 * The mark is a row that is replicated like any other. Transactions are applied in the order of
 * their commits: once a mark has arrived, everything that was committed before it has, too. */
#pragma once

#include "store/postgresql/move_state.h"
#include "store/postgresql/partitions.h"

struct move_server {
    const char *option; /* "--store" or "--to": what messages call it */
    struct pg pg;
    char identity[48]; /* of the database: the server's identifier and its number there */
    char database[64], schema[64]; /* their names; the schema is where its tables are */
    char owner[64];                /* of its tables; empty: there are none */
    struct pg_identity store;      /* if has_rows */
    int64_t clock_ms; /* how far the server's clock is ahead of this process's monotonic one */
    bool has_tables, has_rows; /* rows: of a store that daemons have used */
    bool fenced, published, subscribed;
};

/* Checks the server's settings and looks at what is there. Every function here sets pg.why on
 * false. */
MUST_CHECK bool move_server_look(struct move_server *s);
/* Keeps every other move away from the database, for as long as this session lasts. A command has
 * this lock of both databases and never connects again: whatever it still sends is executed by the
 * sessions that hold the locks, or not at all. */
MUST_CHECK bool move_server_lock(struct move_server *s);
/* The schema and the mark; with `locked` daemons are refused from now on. */
MUST_CHECK bool move_server_prepare(struct move_server *s, bool locked);
/* The store's tables in an empty database, owned by that role, without the rows of a new store. */
MUST_CHECK bool move_server_make_tables(struct move_server *s, const char *owner);
/* Makes the partitions that the other one has. */
MUST_CHECK bool move_server_match(struct move_server *s, struct move_server *other,
                                  struct pg_partitions *known);

/* Publishes the tables that `like` publishes; NULL: all tables there are. */
MUST_CHECK bool move_publish(struct move_server *s, struct move_server *like);
/* Makes the slot for a follower, from which everything committed from now on can be read. An
 * existing one stays. It waits for the transactions that write at that moment, in any database of
 * the server. */
MUST_CHECK bool move_make_slot(struct move_server *s, const struct move_server *follower);
/* Replaces the slot within so long. *ret_made false, and true returned: it took too long. */
MUST_CHECK bool move_replace_slot(struct move_server *s, const struct move_server *follower,
                                  int64_t most_ms, bool *ret_made);
MUST_CHECK bool move_drop_slot(struct move_server *s, const struct move_server *follower);
/* Whether there is a slot for that follower, and for others. */
MUST_CHECK bool move_has_slot(struct move_server *s, const struct move_server *follower,
                              bool *ret_has, bool *ret_has_others);
/* Has this server follow the other one, whose slot exists. */
MUST_CHECK bool move_subscribe(struct move_server *s, const struct move_server *other, bool copy);
/* Ends that; the other one's slot stays. */
MUST_CHECK bool move_unsubscribe(struct move_server *s);
/* Removes what a move made here; a fence stays. */
MUST_CHECK bool move_forget(struct move_server *s);

/* Ends all sessions and lets nothing but replicated rows in. *ret_mark: the last row written; NULL:
 * without a mark. */
MUST_CHECK bool move_fence(struct move_server *s, int64_t *ret_mark);
/* False: it is still fenced, or the connection was lost and nobody knows (move_is_lost). */
MUST_CHECK bool move_unfence(struct move_server *s);
static inline bool move_is_lost(const struct move_server *s)
{
    return !s->pg.connection;
}

MUST_CHECK bool move_mark(struct move_server *s, int64_t *ret_mark);
/* Waits at most so long until the mark is here. */
MUST_CHECK bool move_wait_mark(struct move_server *s, int64_t mark, int64_t most_ms,
                               bool *ret_arrived);

/* Counts the nodes that have renewed their lease since then, by the server's clock (*ret_clock_ms);
 * since_ms 0: whose lease runs. */
MUST_CHECK bool move_nodes(struct move_server *s, int64_t since_ms, int64_t *ret_count,
                           int64_t *ret_clock_ms);
