/* From the bytes of a connection to requests, and back to the next one; inside http/. */
#pragma once

#include "http/conn.h"

/* Where the next bytes go, and how many; 0: there is no room now. */
size_t conn_space(struct conn *c, char **ret_p);
/* n bytes were put there. */
void conn_received(struct conn *c, size_t n);
/* Goes on with what is in `in`, and writes the answers. */
void conn_process(struct conn *c);
/* Answers with a problem and closes after it. */
void conn_refuse(struct conn *c, int status, const char *detail);
/* The response is in `out` as a whole; ends the request. */
void conn_request_done(struct conn *c);
/* Of ROOM: the body may be read now. */
void conn_room_given(struct conn *c);

/* A head that http/http2.c has put together begins its request. */
void conn_begin_request(struct conn *c);
/* Of a stream in BODY: some bytes, and the end. */
void conn_body_bytes(struct conn *c, const char *p, size_t n);
void conn_body_end(struct conn *c);
