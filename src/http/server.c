/* The listening side of one loop: accepting within bounds, stopping gracefully, numbers.
 *
 * A lack of descriptors must not spin: the waiting connection stays in the kernel's queue and the
 * listening socket stays readable. So accepting pauses and is resumed by a timer. */
#include "http/server.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "base/log.h"
#include "http/conn.h"
#include "http/request.h"
#include "http/room.h"
#include "http/turns.h"
#include "net/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define SERVER_MAGIC 0x5E44E401u
#define ACCEPTS_PER_EVENT 16 /* the rest is for other loops, or the next tick */
#define ACCEPT_PAUSE_MS 100
#define COMPLAIN_EVERY_MS 10000

static void listen_again(struct timer *timer)
{
    struct http_server *s = CONTAINER_OF(timer, struct http_server, accept_again);
    CHECK_MAGIC(s, SERVER_MAGIC);
    loop_watch(s->loop, &s->listen, IO_READ | IO_EXCLUSIVE);
}

static void pause_accepting(struct http_server *s, int error)
{
    int64_t now = loop_mono_ms(s->loop);
    loop_watch(s->loop, &s->listen, 0);
    loop_timer_set(s->loop, &s->accept_again, now + ACCEPT_PAUSE_MS);
    if (s->complained_mono_ms && now - s->complained_mono_ms < COMPLAIN_EVERY_MS)
        return;
    s->complained_mono_ms = now;
    log_warning("accepting_paused", LOG_C("reason", socket_error_text(error)),
                LOG_INT("connections", s->open));
}

static void take_connection(struct http_server *s, int fd, const struct endpoint *peer)
{
    bool reserved = false, full = !server_make_place(s, &peer->address, &reserved);
    if (full && (s->options.tls_context ||
                 s->open >= s->options.connections_max + LIMIT_CONNECTIONS_REFUSED_PER_LOOP)) {
        close(fd);
        return;
    }
    struct ssl_st *tls = s->options.tls_context ? tls_server_stream(s->options.tls_context) : NULL;
    struct conn *c = conn_new(s, fd, tls, peer);
    c->in_reserve = reserved;
    if (full && c->open) {
        conn_refuse(c, 503, "there are too many connections");
        if (conn_flush(c))
            conn_settle(c);
    }
}

static void on_listen(struct io *io, int events)
{
    (void)events;
    struct http_server *s = CONTAINER_OF(io, struct http_server, listen);
    CHECK_MAGIC(s, SERVER_MAGIC);
    for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
        struct endpoint peer;
        int error = 0, fd = socket_accept(io->fd, &peer, &error);
        if (fd >= 0) {
            take_connection(s, fd, &peer);
        } else if (socket_accept_exhausted(error)) {
            pause_accepting(s, error);
            return;
        } else if (error == EAGAIN) {
            return;
        }
    }
}

static void set_default(int64_t *value, int64_t limit)
{
    if (*value == 0)
        *value = limit;
}

struct http_server *http_server_new(struct loop *loop, const struct http_server_options *options)
{
    struct http_server *s = xcalloc(1, sizeof *s);
    ASSERT(options->handle);
    s->magic = SERVER_MAGIC;
    s->loop = loop;
    s->options = *options;
    s->date_second = -1;
    set_default(&s->options.header_deadline_ms, LIMIT_HEADER_DEADLINE_MS);
    set_default(&s->options.request_deadline_ms, LIMIT_REQUEST_DEADLINE_MS);
    set_default(&s->options.idle_ms, LIMIT_IDLE_CONNECTION_MS);
    set_default(&s->options.stall_ms, LIMIT_STALL_MS);
    set_default(&s->options.stall_known_ms, LIMIT_STALL_KNOWN_MS);
    set_default(&s->options.window_wait_ms, LIMIT_WINDOW_WAIT_MS);
    set_default(&s->options.connections_max, LIMIT_CONNECTIONS_PER_LOOP);
    set_default(&s->options.connections_per_address, LIMIT_CONNECTIONS_PER_ADDRESS);
    set_default(&s->options.connections_reserved, s->options.connections_max / 16);
    set_default(&s->options.buffers_max_bytes, LIMIT_REQUEST_BUFFERS_BYTES);
    if (s->options.body_max_bytes == 0)
        s->options.body_max_bytes = LIMIT_REQUEST_BODY_BYTES;
    server_room_open(s);
    server_turns_open(s);
    s->accept_again.fire = listen_again;
    s->listen.fd = options->listen_fd;
    s->listen.ready = on_listen;
    if (options->tls_context) {
        s->options.tls_context = NULL;
        http_server_set_tls(s, options->tls_context);
    }
    if (options->listen_fd >= 0)
        loop_watch(loop, &s->listen, IO_READ | IO_EXCLUSIVE);
    return s;
}

void http_server_set_tls(struct http_server *server, void *tls_context)
{
    CHECK_MAGIC(server, SERVER_MAGIC);
    if (tls_context)
        tls_context_keep(tls_context);
    tls_context_free(server->own_tls);
    server->options.tls_context = server->own_tls = tls_context;
}

void http_server_set_access_log(struct http_server *server, struct access_log *log)
{
    CHECK_MAGIC(server, SERVER_MAGIC);
    server->options.access_log = log;
}

void http_server_set_trusted_proxies(struct http_server *server, const struct cidr *trusted,
                                     size_t count)
{
    CHECK_MAGIC(server, SERVER_MAGIC);
    server->options.trusted_proxies = trusted;
    server->options.trusted_proxy_count = count;
}

/* ---- stopping */

static void stop_listening(struct http_server *s)
{
    loop_timer_clear(s->loop, &s->accept_again);
    if (s->listen.fd >= 0)
        loop_unwatch(s->loop, &s->listen);
}

static void drop_all(struct http_server *s)
{
    struct conn *next;
    for (struct conn *c = s->conns; c; c = next) {
        next = c->next;
        conn_drop(c);
    }
}

static void say_stopped(struct http_server *s)
{
    loop_timer_clear(s->loop, &s->stop_timer);
    if (!s->stopped)
        return;
    void (*stopped)(void *) = s->stopped;
    s->stopped = NULL;
    stopped(s->stopped_context);
}

/* At the deadline, or at once if nothing is open: in both cases from the loop, so that `stopped`
 * may free the server. */
static void on_stop_timer(struct timer *timer)
{
    struct http_server *s = CONTAINER_OF(timer, struct http_server, stop_timer);
    CHECK_MAGIC(s, SERVER_MAGIC);
    drop_all(s);
    say_stopped(s);
}

void server_conn_closed(struct http_server *server)
{
    server->open--;
    if (server->stopping && server->open == 0)
        loop_timer_set(server->loop, &server->stop_timer, loop_mono_ms(server->loop));
}

void http_server_stop(struct http_server *server, int64_t deadline_mono_ms,
                      void (*stopped)(void *context), void *context)
{
    CHECK_MAGIC(server, SERVER_MAGIC);
    ASSERT(!server->stopping && stopped);
    server->stopping = true;
    server->stopped = stopped;
    server->stopped_context = context;
    server->stop_timer.fire = on_stop_timer;
    stop_listening(server);
    loop_timer_set(server->loop, &server->stop_timer,
                   server->open ? deadline_mono_ms : loop_mono_ms(server->loop));
    struct conn *next;
    for (struct conn *c = server->conns; c; c = next) {
        next = c->next;
        if (c->open)
            conn_stop(c);
    }
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    CHECK_MAGIC(server, SERVER_MAGIC);
    stop_listening(server);
    drop_all(server);
    loop_timer_clear(server->loop, &server->stop_timer);
    loop_timer_clear(server->loop, &server->turn_timer);
    server_room_close(server);
    while (server->conns) { /* connections whose handlers have not answered */
        struct conn *c = server->conns;
        server->conns = c->next;
        c->server = NULL;
        c->next = NULL;
        c->place = NULL;
    }
    while (server->spare_body_count > 0)
        buf_free(&server->spare_bodies[--server->spare_body_count]);
    tls_context_free(server->own_tls);
    buf_free(&server->date);
    server->magic = 0;
    loop_free_later(server->loop, server);
}
