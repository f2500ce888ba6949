/* Plain and TLS streams over one descriptor.
 *
 * The owner asks for reading and writing. TLS may need the opposite direction for either, and may
 * hold decrypted or undecrypted bytes that epoll does not see. The stream hides both: `watch`
 * translates the owner's wishes for epoll, on_ready translates events back, and `again`
 * reports bytes that TLS holds in the next tick. TLS may also hold a part of a record, which cannot
 * be read: after a read that needs more bytes nothing is reported until some arrive
 * (`needs_socket`). Otherwise the loop would spin while the peer delays the rest of the record. */
#include "net/stream.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>
#include <unistd.h>

static bool handshaking(const struct stream *s)
{
    return s->tls && !s->tls_ready;
}

static void watch(struct stream *s)
{
    int wait = 0;
    if (handshaking(s)) {
        wait = s->want_write_for_read ? IO_WRITE : IO_READ;
    } else {
        if (s->want & IO_READ)
            wait |= s->want_write_for_read ? IO_WRITE : IO_READ;
        if (s->want & IO_WRITE)
            wait |= s->want_read_for_write ? IO_READ : IO_WRITE;
    }
    loop_watch(s->loop, &s->io, wait);
}

static void on_ready(struct io *io, int events)
{
    struct stream *s = CONTAINER_OF(io, struct stream, io);
    s->needs_socket = false;
    if (handshaking(s)) {
        s->ready(s, IO_READ | IO_WRITE);
        return;
    }
    int seen = 0;
    if (events & (s->want_write_for_read ? IO_WRITE : IO_READ))
        seen |= IO_READ;
    if (events & (s->want_read_for_write ? IO_READ : IO_WRITE))
        seen |= IO_WRITE;
    seen &= s->want;
    if (seen)
        s->ready(s, seen);
}

static void on_again(struct loop_report *report)
{
    struct stream *s = CONTAINER_OF(report, struct stream, again);
    if (s->want & IO_READ)
        s->ready(s, IO_READ);
}

void stream_open(struct stream *s, struct loop *loop, int fd, struct ssl_st *tls)
{
    ASSERT(fd >= 0);
    void (*ready)(struct stream *, int) = s->ready;
    *s = (struct stream){.loop = loop, .tls = tls, .ready = ready};
    s->io.fd = fd;
    s->io.ready = on_ready;
    s->again.report = on_again;
    s->tls_ready = !tls;
    if (tls)
        ASSERT(SSL_set_fd(tls, fd) == 1);
}

void stream_close(struct stream *s)
{
    if (!s->loop)
        return;
    loop_report_clear(s->loop, &s->again);
    loop_unwatch(s->loop, &s->io);
    if (s->tls) {
        /* without it OpenSSL would not resume the session */
        if (s->tls_ready && !s->tls_failed) {
            ERR_clear_error();
            (void)SSL_shutdown(s->tls);
        }
        SSL_free(s->tls);
    }
    close(s->io.fd);
    s->io.fd = -1;
    s->tls = NULL;
    s->loop = NULL;
}

void stream_finish_writing(struct stream *s)
{
    if (s->tls && s->tls_ready && !s->tls_failed) {
        ERR_clear_error();
        (void)SSL_shutdown(s->tls);
    }
    (void)shutdown(s->io.fd, SHUT_WR);
}

/* Reports bytes that TLS holds and that a read can return without new ones from the socket. */
static void report_held(struct stream *s)
{
    if (s->tls_ready && (s->want & IO_READ) && !s->needs_socket && SSL_has_pending(s->tls)) {
        loop_report_set(s->loop, &s->again);
    } else {
        loop_report_clear(s->loop, &s->again);
    }
}

void stream_want(struct stream *s, int want)
{
    ASSERT(s->loop);
    s->want = want;
    watch(s);
    if (s->tls)
        report_held(s);
}

static enum stream_result plain_failure(void)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
        return STREAM_AGAIN;
    return STREAM_RESET;
}

static void note_reason(struct stream *s, unsigned long code)
{
    long verified = SSL_get_verify_result(s->tls);
    const char *text = ERR_reason_error_string(code);
    if (verified != X509_V_OK && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED)
        text = X509_verify_cert_error_string(verified);
    s->reason = text ? text : "TLS protocol error";
}

/* The result of a failed TLS call; *opposite: it waits for the other direction. */
static enum stream_result tls_failure(struct stream *s, int returned, int opposite_error,
                                      int same_error, bool *opposite)
{
    int saved_errno = errno;
    int error = SSL_get_error(s->tls, returned);
    if (error == same_error || error == opposite_error) {
        *opposite = error == opposite_error;
        watch(s);
        return STREAM_AGAIN;
    }
    if (error == SSL_ERROR_ZERO_RETURN)
        return STREAM_CLOSED;
    s->tls_failed = true;
    if (error == SSL_ERROR_SYSCALL) {
        s->reason = "the connection was closed during TLS";
        return saved_errno != 0 ? STREAM_RESET : STREAM_CLOSED;
    }
    unsigned long code = ERR_peek_error();
    /* many peers close without close_notify; HTTP framing tells whether bytes are missing */
    if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        s->reason = "the connection was closed during TLS";
        return STREAM_CLOSED;
    }
    note_reason(s, code);
    return STREAM_TLS_ERROR;
}

static enum stream_result tls_read(struct stream *s, void *to, size_t n, size_t *ret_n)
{
    size_t got = 0;
    ERR_clear_error();
    errno = 0;
    int returned = SSL_read_ex(s->tls, to, n, &got);
    if (returned == 1) {
        if (s->want_write_for_read) {
            s->want_write_for_read = false;
            watch(s);
        }
        report_held(s);
        *ret_n = got;
        return STREAM_OK;
    }
    s->needs_socket = true;
    loop_report_clear(s->loop, &s->again);
    return tls_failure(s, returned, SSL_ERROR_WANT_WRITE, SSL_ERROR_WANT_READ,
                       &s->want_write_for_read);
}

enum stream_result stream_read(struct stream *s, void *to, size_t n, size_t *ret_n)
{
    ASSERT(s->loop && n > 0 && s->tls_ready);
    if (s->tls)
        return tls_read(s, to, n, ret_n);
    ssize_t got = recv(s->io.fd, to, n, 0);
    if (got > 0) {
        *ret_n = (size_t)got;
        return STREAM_OK;
    }
    return got == 0 ? STREAM_CLOSED : plain_failure();
}

static enum stream_result tls_write(struct stream *s, const void *from, size_t n, size_t *ret_n)
{
    size_t put = 0;
    ERR_clear_error();
    errno = 0;
    int returned = SSL_write_ex(s->tls, from, n, &put);
    if (returned == 1) {
        if (s->want_read_for_write) {
            s->want_read_for_write = false;
            watch(s);
        }
        *ret_n = put;
        return STREAM_OK;
    }
    return tls_failure(s, returned, SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE,
                       &s->want_read_for_write);
}

enum stream_result stream_write(struct stream *s, const void *from, size_t n, size_t *ret_n)
{
    ASSERT(s->loop && n > 0 && s->tls_ready);
    if (s->tls)
        return tls_write(s, from, n, ret_n);
    ssize_t put = send(s->io.fd, from, n, MSG_NOSIGNAL);
    if (put >= 0) {
        *ret_n = (size_t)put;
        return STREAM_OK;
    }
    return plain_failure();
}

enum stream_result stream_handshake(struct stream *s)
{
    ASSERT(s->loop);
    if (s->tls_ready)
        return STREAM_OK;
    ERR_clear_error();
    errno = 0;
    int returned = SSL_do_handshake(s->tls);
    if (returned == 1) {
        s->tls_ready = true;
        s->want_write_for_read = false;
        stream_want(s, s->want);
        return STREAM_OK;
    }
    return tls_failure(s, returned, SSL_ERROR_WANT_WRITE, SSL_ERROR_WANT_READ,
                       &s->want_write_for_read);
}

const char *stream_tls_reason(const struct stream *s)
{
    return s->reason ? s->reason : "no TLS error";
}
