/* Connections with streams, and the streams: see http2.c. Internal to http/. */
#pragma once

#include "http/conn.h"

/* ALPN has chosen HTTP/2. */
void http2_start(struct conn *c);
void http2_received(struct conn *c, const char *p, size_t n);
/* True if there is more to write: then puts it into `out`, which is empty. */
bool http2_fill(struct conn *c);
bool http2_is_read(const struct conn *c); /* false: after a flood nothing more is read */
/* Sends GOAWAY: serves the open streams, then closes the connection. */
void http2_leave(struct conn *c);
void http2_drop_streams(struct conn *c);
void http2_free(struct conn *c);

/* Of a stream. */
/* True if the client cannot send, because bytes of bodies that wait for room use up the session's
 * window. */
bool http2_is_held_up(const struct conn *stream);
void http2_stream_flush(struct conn *stream);
void http2_stream_continue(struct conn *stream); /* 100 */
void http2_stream_room_given(struct conn *stream);
void http2_stream_room_refused(struct conn *stream); /* received bytes of its body are dropped */
void http2_stream_dropped(struct conn *stream);
void http2_stream_freed(struct conn *stream);
