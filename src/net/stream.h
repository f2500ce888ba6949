/* A connected byte stream, plain or TLS, non-blocking, on one loop. Used for incoming and outgoing
 * connections. */
#pragma once

#include "base/buf.h"
#include "domain/address.h"
#include "net/loop.h"

struct ssl_st;

enum stream_result { STREAM_OK, STREAM_AGAIN, STREAM_CLOSED, STREAM_RESET, STREAM_TLS_ERROR };

/* Zero-initialised it is closed. Embedded in its owner; `ready` may close it, and free the owner
 * with loop_free_later. */
struct stream {
    struct loop *loop;
    struct io io;
    struct ssl_st *tls; /* NULL: plain */
    bool tls_ready;     /* the handshake is done; always true for a plain stream */
    /* Internal: TLS may need the direction that the owner has not asked for. */
    bool want_write_for_read, want_read_for_write;
    bool tls_failed;
    bool needs_socket; /* TLS holds a part of a record: only more bytes make it readable */
    int want;
    struct loop_report again; /* reports bytes that TLS holds, which epoll does not see */
    const char *reason;
    void (*ready)(struct stream *stream, int events); /* set before the first stream_want */
};

/* The stream takes over fd (non-blocking) and tls (NULL, or from tls_server_stream or
 * tls_client_stream in net/tls.h). Nothing is watched until stream_want or stream_handshake. */
void stream_open(struct stream *s, struct loop *loop, int fd, struct ssl_st *tls);
/* Closes at once, without lingering; sends close_notify if that does not block. Does nothing on a
 * closed stream. */
void stream_close(struct stream *s);
/* Shuts down the write side; reading goes on. */
void stream_finish_writing(struct stream *s);
/* Sets the events for which `ready` is called from now on (IO_READ | IO_WRITE); 0: none. During a
 * handshake the stream itself decides what to wait for: `ready` is called with both when
 * stream_handshake is to be called again. */
void stream_want(struct stream *s, int want);
/* Reads at most n > 0 bytes; *ret_n > 0 on STREAM_OK. STREAM_CLOSED: the peer has ended the stream.
 * Reading until STREAM_AGAIN is not needed: remaining bytes are reported again. */
MUST_CHECK enum stream_result stream_read(struct stream *s, void *to, size_t n, size_t *ret_n);
/* True if TLS holds bytes that have arrived, so that reading again costs no system call. */
static inline bool stream_holds_bytes(const struct stream *s)
{
    return s->again.is_set;
}
/* Writes as much as possible; *ret_n < n on STREAM_OK is common. After STREAM_AGAIN the next call
 * must offer the same bytes (at any address). */
MUST_CHECK enum stream_result stream_write(struct stream *s, const void *from, size_t n,
                                           size_t *ret_n);
/* Advances the handshake; the owner makes the first call. OK: done (at once on a plain stream).
 * AGAIN: call again from `ready`. STREAM_TLS_ERROR: refused by either side, see
 * stream_tls_reason. */
MUST_CHECK enum stream_result stream_handshake(struct stream *s);
/* The reason of the last TLS error: "certificate has expired", ... Never NULL; static. */
const char *stream_tls_reason(const struct stream *s);
