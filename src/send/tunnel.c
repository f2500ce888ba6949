/* Tunnels through an HTTP proxy: see tunnel.h. */
#include "send/tunnel.h"

#include "send/request_print.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static void finish(struct tunnel *t, int status)
{
    int fd = t->io.fd;
    loop_unwatch(t->loop, &t->io);
    buf_free(&t->request);
    t->io.ready = NULL;
    t->done(t, fd, status);
}

/* The status of "HTTP/1.x NNN"; 0: not a reply. */
static int status_of(const char *p, size_t n)
{
    static const char start[] = "HTTP/1.";
    uint64_t status;
    if (n < 16 || memcmp(p, start, sizeof start - 1) != 0 || p[8] != ' ' ||
        !str_parse_uint((struct str){p + 9, 3}, 999, &status))
        return 0;
    return char_is_digit(p[12]) ? 0 : (int)status;
}

static bool again(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static void write_on(struct tunnel *t)
{
    ssize_t put = send(t->io.fd, t->request.p, t->request.n, MSG_NOSIGNAL);
    if (put < 0 && !again()) {
        finish(t, 0);
        return;
    }
    buf_consume(&t->request, put > 0 ? (size_t)put : 0);
    if (t->request.n == 0)
        loop_watch(t->loop, &t->io, IO_READ);
}

/* The end of the final reply's last line; NULL: its head is not complete yet. Drops interim replies
 * (1xx; RFC 9110, section 15.2). */
static const char *end_of_reply(struct tunnel *t)
{
    const char *end;
    while ((end = memmem(t->reply, t->reply_bytes, "\r\n\r\n", 4)) != NULL) {
        int status = status_of(t->reply, t->reply_bytes);
        size_t n = (size_t)(end + 4 - t->reply);
        if (status < 100 || status >= 200)
            break;
        t->reply_bytes -= n;
        memmove(t->reply, t->reply + n, t->reply_bytes);
    }
    return end;
}

static void read_on(struct tunnel *t)
{
    ssize_t got = recv(t->io.fd, t->reply + t->reply_bytes, sizeof t->reply - t->reply_bytes, 0);
    if (got < 0 && again())
        return;
    t->reply_bytes += got > 0 ? (size_t)got : 0;
    const char *end = end_of_reply(t);
    if (end) {
        int status = status_of(t->reply, t->reply_bytes);
        /* A refusal may have a body. After a 2xx the bytes are the receiver's, which never sends
         * first: bytes that are there already are not from it. */
        bool surplus = end + 4 != t->reply + t->reply_bytes;
        finish(t, surplus && status < 300 ? 0 : status);
    } else if (got <= 0 || t->reply_bytes == sizeof t->reply) {
        finish(t, 0);
    }
}

static void on_ready(struct io *io, int events)
{
    struct tunnel *t = CONTAINER_OF(io, struct tunnel, io);
    if (t->request.n > 0)
        write_on(t);
    else if (events & IO_READ)
        read_on(t);
}

void tunnel_start(struct tunnel *t, int fd)
{
    struct buf target = {0};
    endpoint_print(&target, &t->target);
    buf_printf(&t->request, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", buf_c(&target), target.p);
    if (t->userinfo.p) {
        buf_add_c(&t->request, "Proxy-Authorization: ");
        request_print_basic(&t->request, t->userinfo);
        buf_add_c(&t->request, "\r\n");
    }
    buf_add_c(&t->request, "\r\n");
    buf_free(&target);
    t->io = (struct io){.fd = fd, .ready = on_ready};
    loop_watch(t->loop, &t->io, IO_WRITE);
}

void tunnel_cancel(struct tunnel *t)
{
    if (!t->io.ready)
        return;
    loop_unwatch(t->loop, &t->io);
    close(t->io.fd);
    t->io.ready = NULL;
    buf_free(&t->request);
}
