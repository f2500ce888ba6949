/* Places and bytes that connections hold together: see room.c. Inside http/. */
#pragma once

#include "http/conn.h"

/* Keeps places and sums in step with the connection, from conn_count to conn_uncount, when it is
 * closed; its buffers are counted for as long as there is memory of it. */
void conn_count(struct conn *c);
void conn_set_client(struct conn *c, const struct address *address); /* the request's, forwarded */
void conn_set_account(struct conn *c, uint32_t account_no);          /* the request is known */
void conn_count_waits(struct conn *c, bool progress); /* progress: the client did something */
void conn_count_buffers(struct conn *c);
void conn_uncount(struct conn *c);
void conn_uncount_buffers(struct conn *c);
/* Closes connections that wait for their clients, but never c, while buffers hold more than they
 * may. */
void conn_shed_buffers(const struct conn *c);
/* Whether the memory of a buffer that is empty may be kept for what comes next. */
bool conn_may_keep(const struct conn *c, const struct buf *empty);
/* Whether so many bytes of a body may be read now; else ROOM begins, and conn_room_given or the
 * deadline follows. */
MUST_CHECK bool conn_take_room(struct conn *c, int64_t bytes);
void conn_leave_room(struct conn *c);

void server_room_open(struct http_server *server);
void server_room_close(struct http_server *server);
/* Makes a place for one more connection, by closing one that waits where there must be.
 * *ret_reserved: it is one of the reserve. False: there is none. */
MUST_CHECK bool server_make_place(struct http_server *server, const struct address *client,
                                  bool *ret_reserved);
