/* The life of a connection: accepting, deadlines, waiting, writing, closing. http/request.c handles
 * the received bytes. A connection is freed at the end of the tick in which it is closed, so that
 * callers up the stack can check `open`. */
#include "http/conn.h"

#include "base/alloc.h"
#include "http/http2.h"
#include "http/request.h"
#include "http/response.h"
#include "http/room.h"
#include "http/turns.h"
#include "net/tls.h"

static int64_t now_mono_ms(const struct conn *c)
{
    return loop_mono_ms(c->request.loop);
}

/* ---- the end */

void conn_release(struct conn *c)
{
    if (c->open || c->phase == CONN_HANDLING || c->processing || !c->magic)
        return;
    struct loop *loop = c->request.loop;
    if (c->place) {
        *c->place = c->next;
        if (c->next)
            c->next->place = c->place;
    }
    loop_timer_clear(loop, &c->drained_timer);
    loop_timer_clear(loop, &c->deadline_timer);
    conn_uncount_buffers(c);
    if (c->http2)
        http2_free(c);
    if (c->carrier)
        http2_stream_freed(c);
    arena_free(&c->request.arena);
    head_free(&c->head);
    buf_free(&c->in);
    buf_free(&c->ahead);
    buf_free(&c->body);
    buf_free(&c->out);
    c->magic = 0;
    loop_free_later(loop, c);
}

void conn_drop(struct conn *c)
{
    if (!c->open)
        return;
    c->open = false;
    stream_close(&c->stream);
    loop_timer_clear(c->request.loop, &c->deadline_timer);
    if (c->phase == CONN_HANDLING) {
        c->request.gone = true;
        if (c->drained)
            loop_timer_set(c->request.loop, &c->drained_timer, now_mono_ms(c));
    }
    struct http_server *server = c->server;
    if (c->carrier)
        http2_stream_dropped(c);
    if (c->http2)
        http2_drop_streams(c);
    conn_uncount(c);
    conn_release(c);
    server_conn_closed(server);
}

/* ---- deadlines and readiness */

void conn_begin_phase(struct conn *c, enum conn_phase phase)
{
    const struct http_server_options *o = &c->server->options;
    int64_t now = now_mono_ms(c);
    c->phase = phase;
    switch (phase) {
    case CONN_TLS:
    case CONN_ROOM:
    case CONN_HEAD: c->phase_deadline = now + o->header_deadline_ms; break;
    case CONN_IDLE: c->phase_deadline = now + o->idle_ms; break;
    case CONN_BODY: c->phase_deadline = now + o->request_deadline_ms; break;
    case CONN_LINGER: c->phase_deadline = now + LIMIT_LINGER_MS; break;
    case CONN_STREAMS:
    case CONN_HANDLING:
    case CONN_FLUSHING: c->phase_deadline = INT64_MAX; break;
    }
    /* a begun head is no progress: it may never end */
    conn_count_waits(c, phase != CONN_HEAD);
}

static int wanted(const struct conn *c)
{
    int want = conn_out_waits(c) ? IO_WRITE : 0;
    if ((c->http2 && c->phase != CONN_LINGER && !http2_is_read(c)) || c->turn == TURN_WAITS)
        return want;
    switch (c->phase) {
    case CONN_TLS:
    case CONN_ROOM:
    case CONN_FLUSHING: return want;
    case CONN_STREAMS:
    case CONN_IDLE:
    case CONN_HEAD:
    case CONN_BODY: return c->out.n - c->out_at < OUT_MAX_BYTES ? want | IO_READ : want;
    case CONN_HANDLING: return !c->eof && c->ahead.n < AHEAD_MAX_BYTES ? want | IO_READ : want;
    case CONN_LINGER: return want | IO_READ;
    }
    UNREACHABLE();
}

void conn_settle(struct conn *c)
{
    if (!c->open)
        return;
    c->deadline = c->phase_deadline;
    if (c->write_deadline < c->deadline)
        c->deadline = c->write_deadline;
    /* For a later deadline the timer is not moved: on_deadline checks again. */
    struct timer *t = &c->deadline_timer;
    if (c->deadline != INT64_MAX && (!t->heap_place || t->at_mono_ms > c->deadline))
        loop_timer_set(c->request.loop, t, c->deadline);
    if (!c->detached && c->phase != CONN_TLS)
        stream_want(&c->stream, wanted(c));
    conn_count_waits(c, false);
    conn_count_buffers(c);
    conn_shed_buffers(c);
}

static void on_deadline(struct timer *timer)
{
    struct conn *c = CONTAINER_OF(timer, struct conn, deadline_timer);
    CHECK_MAGIC(c, CONN_MAGIC);
    if (c->deadline > now_mono_ms(c)) {
        conn_settle(c);
        return;
    }
    bool stalled = c->write_deadline <= now_mono_ms(c);
    if (!stalled && c->phase == CONN_HANDLING) {
        response_late(c);
        if (conn_flush(c))
            conn_settle(c);
        return;
    }
    if (!stalled && c->http2 && c->phase == CONN_IDLE) {
        http2_leave(c);
        c->phase_deadline = INT64_MAX; /* the rest is written, or write_deadline ends it */
    } else if (c->carrier && c->phase == CONN_HEAD) {
        conn_drop(c->carrier); /* nothing else can follow before the rest of these headers */
        return;
    } else if (!stalled && c->phase == CONN_ROOM) {
        if (c->is_stream)
            http2_stream_room_refused(c);
        conn_refuse(c, 503, "the buffers for requests are full");
    } else if (!stalled && c->phase == CONN_BODY && c->turn == TURN_WAITS) {
        conn_refuse(c, 503, "too many large requests came before this one");
    } else if (!stalled && (c->phase == CONN_HEAD || c->phase == CONN_BODY)) {
        conn_refuse(c, 408, "the request did not arrive in time");
    } else {
        conn_drop(c);
        return;
    }
    if (conn_flush(c))
        conn_settle(c);
}

/* ---- writing */

void conn_out_taken(struct conn *c)
{
    buf_clear(&c->out);
    c->out_at = 0;
    c->write_deadline = INT64_MAX;
    if (!conn_may_keep(c, &c->out))
        buf_free(&c->out);
    if (c->drained)
        loop_timer_set(c->request.loop, &c->drained_timer, now_mono_ms(c));
}

void conn_begin_linger(struct conn *c)
{
    bool known = c->account || c->request.known;
    c->linger_left = known ? LIMIT_LINGER_KNOWN_BYTES : LIMIT_LINGER_BYTES;
    conn_begin_phase(c, CONN_LINGER);
}

static void flushed(struct conn *c)
{
    conn_out_taken(c);
    if (c->phase != CONN_FLUSHING)
        return;
    /* Closing with unread bytes would reset the connection, and the reset can overtake the answer
     * (RFC 9112, section 9.6). */
    bool unread = !c->body_whole || c->in.n > 0 || c->ahead.n > 0 || c->http2;
    if (c->detached || c->eof || !unread) {
        conn_drop(c);
        return;
    }
    stream_finish_writing(&c->stream);
    conn_begin_linger(c);
}

bool conn_flush(struct conn *c)
{
    if (!c->open)
        return false;
    if (c->is_stream) {
        http2_stream_flush(c);
        return c->open;
    }
    while (conn_out_waits(c) || (c->http2 && http2_fill(c))) {
        size_t n = c->out.n - c->out_at, put = n;
        enum stream_result result =
            c->detached ? STREAM_OK : stream_write(&c->stream, c->out.p + c->out_at, n, &put);
        if (result == STREAM_AGAIN) {
            if (c->write_deadline == INT64_MAX)
                c->write_deadline = now_mono_ms(c) + c->server->options.request_deadline_ms;
            return true;
        }
        if (result != STREAM_OK) {
            conn_drop(c);
            return false;
        }
        c->out_at += put;
        conn_count_waits(c, true);
    }
    flushed(c);
    return c->open;
}

/* The client sends no more, but may still read: its request is answered. */
static void ended(struct conn *c)
{
    c->eof = true;
    if (c->phase == CONN_LINGER || c->http2)
        conn_drop(c);
    else
        conn_process(c);
}

/* Reading a refused body has limits: a stranger could keep the loop busy with it. */
void conn_drop_bytes(struct conn *c, size_t n)
{
    c->linger_left -= (int64_t)n;
    if (c->linger_left <= 0)
        conn_drop(c);
}

static void receive(struct conn *c)
{
    char *p;
    size_t got = 0, n = SCRATCH_BYTES;
    if (c->phase == CONN_LINGER)
        p = c->server->scratch;
    else
        n = conn_take_turn(c, conn_space(c, &p));
    if (n == 0)
        return;
    enum stream_result result = stream_read(&c->stream, p, n, &got);
    if (result == STREAM_AGAIN)
        return;
    if (result == STREAM_OK && c->phase != CONN_LINGER)
        conn_received(c, got);
    else if (result == STREAM_OK)
        conn_drop_bytes(c, got);
    else if (result == STREAM_CLOSED)
        ended(c);
    else
        conn_drop(c);
    if (got < n)
        conn_pass_turn(c);
}

static void on_ready(struct stream *stream, int events)
{
    struct conn *c = CONTAINER_OF(stream, struct conn, stream);
    CHECK_MAGIC(c, CONN_MAGIC);
    if (c->phase == CONN_TLS) {
        enum stream_result result = stream_handshake(&c->stream);
        if (result == STREAM_AGAIN)
            return;
        if (result != STREAM_OK) {
            conn_drop(c);
            return;
        }
        conn_begin_phase(c, CONN_IDLE);
        if (tls_chose_http2(c->stream.tls))
            http2_start(c);
        events = IO_READ;
    }
    if ((events & IO_WRITE) && conn_out_waits(c)) {
        if (!conn_flush(c))
            return;
        if (c->phase == CONN_IDLE || c->phase == CONN_HEAD)
            conn_process(c); /* requests that waited for room in `out` */
    }
    if ((events & IO_READ) && c->open && (wanted(c) & IO_READ))
        receive(c);
    conn_settle(c);
}

static void on_drained(struct timer *timer)
{
    struct conn *c = CONTAINER_OF(timer, struct conn, drained_timer);
    CHECK_MAGIC(c, CONN_MAGIC);
    void (*drained)(struct http_request *) = c->drained;
    c->drained = NULL;
    if (drained)
        drained(&c->request);
}

/* ---- begin and stop */

struct conn *conn_new(struct http_server *server, int fd, struct ssl_st *tls,
                      const struct endpoint *peer)
{
    struct conn *c = xcalloc(1, sizeof *c);
    c->magic = CONN_MAGIC;
    c->server = server;
    c->request.loop = server->loop;
    c->peer = *peer;
    c->open = true;
    c->body_whole = true;
    c->write_deadline = INT64_MAX;
    c->tls = tls != NULL;
    c->detached = fd < 0;
    c->deadline_timer.fire = on_deadline;
    c->drained_timer.fire = on_drained;
    c->next = server->conns;
    if (c->next)
        c->next->place = &c->next;
    c->place = &server->conns;
    server->conns = c;
    server->open++;
    conn_count(c);
    c->stream.ready = on_ready;
    if (!c->detached)
        stream_open(&c->stream, server->loop, fd, tls);
    conn_begin_phase(c, tls ? CONN_TLS : CONN_IDLE);
    conn_settle(c);
    if (tls && c->open)
        on_ready(&c->stream, IO_READ);
    return c;
}

bool conn_feed(struct conn *c, const char *p, size_t n)
{
    ASSERT(c->detached);
    while (n > 0 && c->open && c->phase != CONN_FLUSHING) {
        char *to;
        size_t room = conn_space(c, &to);
        if (room == 0)
            return true;
        size_t some = n < room ? n : room;
        memcpy(to, p, some);
        p += some;
        n -= some;
        conn_received(c, some);
    }
    return c->open;
}

void conn_stop(struct conn *c)
{
    bool is_idle = c->phase == CONN_IDLE && c->in.n == 0 && !conn_out_waits(c);
    c->close_after = true;
    if (c->http2) {
        http2_leave(c);
        if (conn_flush(c))
            conn_settle(c);
    }
    if (c->phase == CONN_TLS || is_idle) {
        conn_drop(c);
    } else if (c->phase == CONN_IDLE && c->in.n == 0) {
        conn_begin_phase(c, CONN_FLUSHING);
        conn_settle(c);
    }
}
