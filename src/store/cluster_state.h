/* Where a cluster is, how full it is and how a move of it goes: for people. */
#pragma once

#include "base/buf.h"

enum move_step {
    MOVE_NONE,
    MOVE_BEGINNING, /* the other server does not follow yet */
    MOVE_COPYING,
    MOVE_FOLLOWING,
    MOVE_SWITCHED, /* the other server was in use before, and is kept up to date */
    MOVE_UNSEEN,   /* the other server does not answer, or the URI does not name it */
};
const char *move_step_name(enum move_step step); /* "copying" */

#define CLUSTERS_MOST 16
#define CLUSTER_SERVER_BYTES 280
#define CLUSTER_UNKNOWN (-1) /* a figure that cannot be read */

struct move_state {
    enum move_step step;
    bool is_commanded;                 /* a `postbackd move` of it runs now */
    char server[CLUSTER_SERVER_BYTES]; /* the other one, "host:port"; empty: it was not seen */
    int64_t tables_done, tables;
    int64_t bytes_done, bytes; /* of the database there, and of the one in use */
    int64_t behind_bytes;      /* changes that the other server has not confirmed */
    int64_t errors;            /* of the replication, since its begin */
};

struct cluster_state {
    uint32_t number;
    char away[400];                    /* why it cannot be written; empty: it is in use */
    char server[CLUSTER_SERVER_BYTES]; /* the one that takes writes, "host:port" */
    char database[64];
    char system[24]; /* the server's identifier: the same for all of its databases */
    int64_t bytes, partners, events, waiting;
    int64_t recent_events; /* dated yesterday or today, in UTC */
    struct move_state move;
};

/* One of which nothing is known yet. */
struct cluster_state cluster_state_unknown(uint32_t number);
struct cluster_state cluster_state_away(uint32_t number, const char *why);
/* "copying 3 of 22 tables, 8 of about 13 MB, 89 KB of changes behind" */
void move_progress_print(struct buf *to, const struct move_state *m);
/* "in use", "away: ..." or what a move does. */
void cluster_state_print(struct buf *to, const struct cluster_state *c);
/* "in_use", "away", "moving" or "moved" */
const char *cluster_state_name(const struct cluster_state *c);
/* Which cluster should get a server of its own, because its server has much more than the others;
 * -1: none. */
int cluster_to_move(const struct cluster_state *clusters, size_t count);
/* Its part of all events of the last days, in percent. */
int cluster_event_percent(const struct cluster_state *clusters, size_t count, size_t which);
