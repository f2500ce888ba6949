/* Limits of connections and of their bytes: see room.c. Internal to http/. */
#pragma once

#include "http/conn.h"

/* Counts the connection and its bytes: from conn_count to conn_uncount at its close; its buffers
 * for as long as they have memory. */
void conn_count(struct conn *c);
void conn_set_client(struct conn *c,
                     const struct address *address);        /* the request's, through proxies */
void conn_set_account(struct conn *c, uint32_t account_no); /* the request has a key or session */
void conn_count_waits(struct conn *c, bool progress);       /* progress: the client did something */
void conn_count_buffers(struct conn *c);
void conn_uncount(struct conn *c);
void conn_uncount_buffers(struct conn *c);
/* Closes connections that wait for their clients, but never c, while buffers hold too much. */
void conn_shed_buffers(const struct conn *c);
/* True if an empty buffer may keep its memory for reuse. */
bool conn_may_keep(const struct conn *c, const struct buf *empty);
/* True if that many bytes of a body may be read now. Otherwise ROOM begins; conn_room_given or the
 * deadline ends it. */
MUST_CHECK bool conn_take_room(struct conn *c, int64_t bytes);
void conn_leave_room(struct conn *c);

void server_room_open(struct http_server *server);
void server_room_close(struct http_server *server);
/* Makes a place for one more connection, if necessary by closing one that waits. *ret_reserved: it
 * is one of the reserved places. False: there is none. */
MUST_CHECK bool server_make_place(struct http_server *server, const struct address *client,
                                  bool *ret_reserved);
