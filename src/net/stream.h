/* A connected byte stream, plain or TLS, non-blocking, on one loop. Used by both the incoming
 * and the outgoing side. */
#pragma once

#include "base/buf.h"
#include "domain/url.h"
#include "net/loop.h"

struct ssl_st;

enum stream_result { STREAM_OK, STREAM_AGAIN, STREAM_CLOSED, STREAM_RESET, STREAM_TLS_ERROR };

struct stream {
    struct loop *loop;
    struct io io;
    struct ssl_st *tls; /* NULL: plain */
    bool tls_ready;
    bool want_write_for_read, want_read_for_write; /* TLS 1.2 renegotiation-free, but handshakes */
    void (*ready)(struct stream *stream, int events);
};

/* fd: non-blocking, owned by the stream from then. tls: owned likewise, or NULL. */
void stream_open(struct stream *s, struct loop *loop, int fd, struct ssl_st *tls);
void stream_close(struct stream *s); /* at once; no lingering */
void stream_want(struct stream *s, int want);
/* Reads at most n bytes; *ret_n > 0 on STREAM_OK. */
enum stream_result stream_read(struct stream *s, void *to, size_t n, size_t *ret_n);
/* Writes what it can. */
enum stream_result stream_write(struct stream *s, const void *from, size_t n, size_t *ret_n);
/* Drives the handshake: OK when done. */
enum stream_result stream_handshake(struct stream *s);
/* The reason of the last TLS error in words: "certificate has expired", ... */
const char *stream_tls_reason(struct stream *s);
