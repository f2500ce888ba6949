/* Connections that carry streams, and those streams: see http2.c. Inside http/. */
#pragma once

#include "http/conn.h"

/* HTTP/2 has been agreed on. */
void http2_start(struct conn *c);
void http2_received(struct conn *c, const char *p, size_t n);
/* Whether there is more to write: puts it into `out`, which is empty. */
bool http2_fill(struct conn *c);
bool http2_is_read(const struct conn *c); /* false: a flood, and what more comes is not read */
/* GOAWAY: streams that have begun are served, then the connection is closed. */
void http2_leave(struct conn *c);
void http2_drop_streams(struct conn *c);
void http2_free(struct conn *c);

/* Of a stream. */
/* Its session's window is used up by bytes of bodies that wait for room: the client cannot send. */
bool http2_is_held_up(const struct conn *stream);
void http2_stream_flush(struct conn *stream);
void http2_stream_continue(struct conn *stream); /* 100 */
void http2_stream_room_given(struct conn *stream);
void http2_stream_room_refused(struct conn *stream); /* what has come of its body is dropped */
void http2_stream_dropped(struct conn *stream);
void http2_stream_freed(struct conn *stream);
