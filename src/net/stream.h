/* A connected byte stream, plain or TLS, non-blocking, on one loop. Used by both the incoming
 * and the outgoing side. */
#pragma once

#include "base/buf.h"
#include "domain/url.h"
#include "net/loop.h"

struct ssl_st;

enum stream_result { STREAM_OK, STREAM_AGAIN, STREAM_CLOSED, STREAM_RESET, STREAM_TLS_ERROR };

/* Zero-initialised is closed. Embedded in its owner; `ready` may close it and free the owner by
 * loop_free_later. */
struct stream {
    struct loop *loop;
    struct io io;
    struct ssl_st *tls; /* NULL: plain */
    bool tls_ready;     /* the handshake is done; plain streams are ready at once */
    /* The stream's: what TLS waits for is not always what the owner asked for. */
    bool want_write_for_read, want_read_for_write;
    bool tls_failed;
    bool needs_socket; /* what TLS holds is part of a record: only more bytes make it readable */
    int want;
    struct timer again; /* bytes that TLS holds already are not seen by epoll */
    const char *reason;
    void (*ready)(struct stream *stream, int events); /* set before the first stream_want */
};

/* fd: non-blocking, owned by the stream from then. tls: owned likewise, or NULL; from
 * tls_server_stream or tls_client_stream (net/tls.h). Nothing is watched until stream_want or
 * stream_handshake. */
void stream_open(struct stream *s, struct loop *loop, int fd, struct ssl_st *tls);
/* At once; no lingering. Says close_notify when that can be written without waiting. Closing a
 * closed one does nothing. */
void stream_close(struct stream *s);
/* Says to the peer that nothing more will be written; reading goes on. */
void stream_finish_writing(struct stream *s);
/* What `ready` is to be called for (IO_READ | IO_WRITE), from now on; 0: nothing. While a
 * handshake is under way the stream itself knows what to wait for: then `ready` is called with
 * both when stream_handshake is to be called again. */
void stream_want(struct stream *s, int want);
/* Reads at most n > 0 bytes; *ret_n > 0 on STREAM_OK. STREAM_CLOSED: the peer said its end.
 * There is no need to read until STREAM_AGAIN: what is left is reported again. */
MUST_CHECK enum stream_result stream_read(struct stream *s, void *to, size_t n, size_t *ret_n);
/* Whether TLS holds bytes that came already: reading again costs no system call. */
static inline bool stream_holds_bytes(const struct stream *s)
{
    return s->again.heap_place != 0;
}
/* Writes what it can; *ret_n < n on STREAM_OK is common. After STREAM_AGAIN the same bytes must
 * be offered again (from any address). */
MUST_CHECK enum stream_result stream_write(struct stream *s, const void *from, size_t n,
                                           size_t *ret_n);
/* Drives the handshake, which the owner begins by a first call: OK when done (at once on a plain
 * stream), AGAIN: call again when `ready` says so. STREAM_TLS_ERROR: refused by
 * us or by the peer, see stream_tls_reason. */
MUST_CHECK enum stream_result stream_handshake(struct stream *s);
/* The reason of the last TLS error in words: "certificate has expired", ... Never NULL; static. */
const char *stream_tls_reason(const struct stream *s);
