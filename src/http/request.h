/* Turns a connection's bytes into requests. Internal to http/. */
#pragma once

#include "http/conn.h"

/* Returns the free space for received bytes, and its address; 0: there is none now. */
size_t conn_space(struct conn *c, char **ret_p);
/* n bytes were received there. */
void conn_received(struct conn *c, size_t n);
/* Handles the bytes in `in`, and writes the answers. */
void conn_process(struct conn *c);
/* Answers with a problem, then closes. */
void conn_refuse(struct conn *c, int status, const char *detail);
/* `out` has the whole response: ends the request. */
void conn_request_done(struct conn *c);
/* Ends ROOM: the body may be read now. */
void conn_room_given(struct conn *c);

/* Begins the request of a head that http/http2.c has built. */
void conn_begin_request(struct conn *c);
/* Of a stream in BODY: bytes of the body, and its end. */
void conn_body_bytes(struct conn *c, const char *p, size_t n);
void conn_body_end(struct conn *c);
