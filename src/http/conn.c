/* The life of a connection: reading, framing, handing over, writing, deadlines.
 *
 * Invariants. While a request is being received or handled `in` does not move, since the request
 * points into it; later bytes go to `ahead`. conn_process is the only place that starts a
 * request, and it is not entered twice: a handler that answers at once only fills `out`, and the
 * loop in conn_process goes on with the next pipelined request; one that answers later enters it
 * again by conn_request_done. So a small request costs one read and one write, and a train of
 * pipelined ones not more.
 *
 * A connection is freed at the end of the tick in which it is closed, so that callers up the
 * stack can look at `open`. */
#include "http/conn.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "net/tls.h"

#include <stdlib.h>
#include <unistd.h>

#define READ_BYTES 4096
#define AHEAD_MAX_BYTES LIMIT_HEADER_BYTES
#define BODY_STEP_BYTES 262144 /* room made at once for a body announced */
#define OUT_MAX_BYTES 262144   /* beyond, pipelined requests wait */
#define KEPT_BUFFER_BYTES 32768
#define LINGER_MS 2000

static const char continue_line[] = "HTTP/1.1 100 Continue\r\n\r\n";

static int64_t now_mono_ms(const struct conn *c)
{
    return loop_mono_ms(c->request.loop);
}

/* ---- the end */

static void release(struct conn *c)
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
    release(c);
    server_conn_closed(server);
}

/* ---- deadlines and readiness */

static void begin_phase(struct conn *c, enum conn_phase phase)
{
    const struct http_server_options *o = &c->server->options;
    int64_t now = now_mono_ms(c);
    c->phase = phase;
    switch (phase) {
    case CONN_TLS:
    case CONN_HEAD: c->phase_deadline = now + o->header_deadline_ms; break;
    case CONN_IDLE: c->phase_deadline = now + o->idle_ms; break;
    case CONN_BODY: c->phase_deadline = now + o->request_deadline_ms; break;
    case CONN_LINGER: c->phase_deadline = now + LINGER_MS; break;
    case CONN_HANDLING:
    case CONN_FLUSHING: c->phase_deadline = INT64_MAX; break;
    }
}

static int wanted(const struct conn *c)
{
    int want = conn_out_waits(c) ? IO_WRITE : 0;
    switch (c->phase) {
    case CONN_TLS:
    case CONN_FLUSHING: return want;
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
    /* A later deadline leaves the timer where it is: on_deadline looks again. */
    struct timer *t = &c->deadline_timer;
    if (c->deadline != INT64_MAX && (!t->heap_place || t->at_mono_ms > c->deadline))
        loop_timer_set(c->request.loop, t, c->deadline);
    if (!c->detached && c->phase != CONN_TLS)
        stream_want(&c->stream, wanted(c));
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
    if (stalled || (c->phase != CONN_HEAD && c->phase != CONN_BODY)) {
        conn_drop(c);
        return;
    }
    conn_refuse(c, 408, "the request did not arrive in time");
    if (conn_flush(c))
        conn_settle(c);
}

/* ---- writing */

static void flushed(struct conn *c)
{
    buf_clear(&c->out);
    c->out_at = 0;
    c->write_deadline = INT64_MAX;
    if (c->out.capacity > KEPT_BUFFER_BYTES)
        buf_free(&c->out);
    if (c->drained)
        loop_timer_set(c->request.loop, &c->drained_timer, now_mono_ms(c));
    if (c->phase != CONN_FLUSHING)
        return;
    /* Closing on unread bytes would reset the connection, and the reset can overtake the answer
     * (RFC 9112, section 9.6). */
    bool unread = !c->body_whole || c->in.n > 0 || c->ahead.n > 0;
    if (c->detached || c->eof || !unread) {
        conn_drop(c);
        return;
    }
    stream_finish_writing(&c->stream);
    begin_phase(c, CONN_LINGER);
}

bool conn_flush(struct conn *c)
{
    if (!c->open)
        return false;
    while (conn_out_waits(c)) {
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
    }
    flushed(c);
    return c->open;
}

/* ---- a request */

static void keep_spare_body(struct http_server *server, struct buf *body)
{
    if (body->capacity == 0)
        return;
    if (server && server->spare_body_count < SPARE_BODIES && body->capacity <= SPARE_BODY_BYTES) {
        buf_clear(body);
        server->spare_bodies[server->spare_body_count++] = *body;
        *body = (struct buf){0};
    } else {
        buf_free(body);
    }
}

static void take_spare_body(struct conn *c)
{
    if (c->server->spare_body_count > 0 && c->body.capacity == 0)
        c->body = c->server->spare_bodies[--c->server->spare_body_count];
}

static void conn_process(struct conn *c);

static void forget_request(struct conn *c)
{
    arena_free(&c->request.arena);
    c->request.magic = 0;
    c->drained = NULL;
    loop_timer_clear(c->request.loop, &c->drained_timer);
    keep_spare_body(c->server, &c->body);
    buf_consume(&c->in, c->used_bytes);
    if (c->ahead.n > 0) {
        buf_add(&c->in, c->ahead.p, c->ahead.n);
        buf_clear(&c->ahead);
    }
    if (c->in.n == 0 && c->in.capacity > KEPT_BUFFER_BYTES)
        buf_free(&c->in);
    c->scan = (struct head_scan){0};
    c->used_bytes = 0;
    c->answered = c->chunked_out = false;
}

void conn_request_done(struct conn *c)
{
    ASSERT(c->phase == CONN_HANDLING);
    if (!c->open) {
        forget_request(c);
        c->phase = CONN_FLUSHING;
        release(c);
        return;
    }
    c->server->served++;
    forget_request(c);
    begin_phase(c, c->close_after || c->eof ? CONN_FLUSHING : CONN_IDLE);
    if (!c->processing)
        conn_process(c);
}

void conn_refuse(struct conn *c, int status, const char *detail)
{
    c->close_after = true;
    c->server->refused++;
    response_problem(c, status, detail);
    c->used_bytes = c->in.n;
    forget_request(c);
    c->body_whole = false; /* unknown: linger */
    begin_phase(c, CONN_FLUSHING);
}

static void call_handler(struct conn *c, struct str body)
{
    c->body_whole = true;
    c->request.body = body;
    begin_phase(c, CONN_HANDLING);
    c->server->options.handle(c->server->options.context, &c->request);
}

static void body_is_whole(struct conn *c)
{
    (void)buf_reserve(&c->body, HTTP_BODY_PADDING_BYTES);
    call_handler(c, buf_str(&c->body));
}

/* Bytes of a chunked body; what is behind its end is the next request's. *ret_used. */
static void take_chunked(struct conn *c, const char *p, size_t n, size_t *ret_used)
{
    size_t max = c->server->options.body_max_bytes;
    switch (chunked_decode(&c->chunked, p, n, &c->body, max, ret_used)) {
    case CHUNKED_MORE: return;
    case CHUNKED_END: c->body_whole = true; return;
    case CHUNKED_MALFORMED: conn_refuse(c, 400, "the chunked body is malformed"); return;
    case CHUNKED_TOO_LARGE: conn_refuse(c, 413, "the body is too large"); return;
    }
}

static void begin_body(struct conn *c)
{
    begin_phase(c, CONN_BODY);
    c->used_bytes = c->in.n;
    take_spare_body(c);
    const char *p = c->in.p + c->head_bytes;
    size_t n = c->in.n - c->head_bytes, used = 0;
    if (c->head.chunked) {
        c->chunked = (struct chunked){0};
        take_chunked(c, p, n, &used);
        if (c->phase != CONN_BODY)
            return;
        if (c->body_whole) {
            c->used_bytes = c->head_bytes + used;
            body_is_whole(c);
            return;
        }
    } else {
        buf_add(&c->body, p, n);
        c->body_left = c->head.content_bytes - (int64_t)n;
    }
    /* Only one that waits for it: a body begun needs no leave. */
    if (c->head.expects_continue && n == 0)
        buf_add(&c->out, continue_line, sizeof continue_line - 1);
}

static void fill_request(struct conn *c)
{
    struct http_request *r = &c->request;
    r->magic = HTTP_REQUEST_MAGIC;
    r->method = c->head.method;
    r->method_text = c->head.lines.method;
    r->path = c->head.path;
    r->query = c->head.query;
    r->headers = c->head.lines.headers;
    r->header_count = c->head.lines.header_count;
    r->body = STR("");
    r->peer = c->peer.address;
    r->secure = c->tls;
    r->gone = false;
    r->context = NULL;
    response_choose_id(c);
    const struct http_server_options *o = &c->server->options;
    if (o->trusted_proxy_count > 0)
        forwarded_resolve(r, o->trusted_proxies, o->trusted_proxy_count);
}

/* The head is whole and good. */
static void begin_request(struct conn *c)
{
    const struct http_server_options *o = &c->server->options;
    fill_request(c);
    if (!c->head.keep_alive)
        c->close_after = true;
    size_t here = c->in.n - c->head_bytes;
    int64_t announced = c->head.chunked             ? -1
                        : c->head.content_bytes > 0 ? c->head.content_bytes
                                                    : 0;
    c->body_whole = announced >= 0 && (uint64_t)announced <= here;
    c->used_bytes = c->body_whole ? c->head_bytes + (size_t)announced : c->in.n;
    if (o->headers_in) {
        begin_phase(c, CONN_HANDLING); /* it may answer */
        if (o->headers_in(o->context, &c->request)) {
            ASSERT(c->phase != CONN_HANDLING);
            return;
        }
        ASSERT(c->phase == CONN_HANDLING && !c->answered);
    }
    if (announced > 0 && (uint64_t)announced > o->body_max_bytes)
        conn_refuse(c, 413, "the body is too large");
    else if (c->body_whole)
        call_handler(c, (struct str){c->in.p + c->head_bytes, (size_t)announced});
    else
        begin_body(c);
}

static void skip_empty_lines(struct conn *c)
{
    size_t n = 0; /* RFC 9112, section 2.2: some clients end a body with one */
    while (c->in.n - n >= 2 && c->in.p[n] == '\r' && c->in.p[n + 1] == '\n')
        n += 2;
    if (n > 0)
        buf_consume(&c->in, n);
}

/* One step towards a request from what is in `in`; false: nothing to do for now. */
static bool take_head(struct conn *c)
{
    if (c->scan.seen == 0)
        skip_empty_lines(c);
    if (c->in.n == 0)
        return false;
    struct head_refusal refusal = {0};
    switch (head_scan(&c->scan, c->in.p, c->in.n, &c->head_bytes, &refusal)) {
    case HEAD_MORE:
        if (c->phase == CONN_IDLE)
            begin_phase(c, CONN_HEAD);
        return false;
    case HEAD_REFUSED: break;
    case HEAD_WHOLE:
        if (head_parse(&c->head, c->in.p, c->head_bytes, &refusal)) {
            begin_request(c);
            return true;
        }
        break;
    }
    conn_refuse(c, refusal.status, refusal.detail);
    return false;
}

static void conn_process(struct conn *c)
{
    ASSERT(!c->processing);
    c->processing = true;
    while ((c->phase == CONN_IDLE || c->phase == CONN_HEAD) && c->open &&
           c->out.n - c->out_at < OUT_MAX_BYTES && take_head(c)) {
    }
    c->processing = false;
    if (conn_flush(c))
        conn_settle(c);
    release(c);
}

/* ---- reading */

/* Where the next bytes go, and how many; 0: there is no room now. */
static size_t space(struct conn *c, char **ret_p)
{
    struct buf *to = &c->in;
    size_t n = READ_BYTES;
    if (c->phase == CONN_BODY && c->head.chunked) {
        *ret_p = c->server->scratch;
        return SCRATCH_BYTES;
    }
    if (c->phase == CONN_BODY) {
        to = &c->body;
        n = to->n > BODY_STEP_BYTES ? to->n : BODY_STEP_BYTES;
        if ((uint64_t)c->body_left < n)
            n = (size_t)c->body_left;
    } else if (c->phase == CONN_HANDLING) {
        to = &c->ahead;
        if (to->n >= AHEAD_MAX_BYTES)
            return 0;
    }
    *ret_p = buf_reserve(to, n + HTTP_BODY_PADDING_BYTES);
    return n;
}

static void received(struct conn *c, size_t n)
{
    if (c->phase == CONN_HANDLING) {
        c->ahead.n += n;
    } else if (c->phase == CONN_BODY) {
        c->processing = true;
        if (c->head.chunked) {
            size_t used = 0;
            take_chunked(c, c->server->scratch, n, &used);
            if (c->phase == CONN_BODY && c->body_whole) {
                buf_add(&c->ahead, c->server->scratch + used, n - used);
                body_is_whole(c);
            }
        } else {
            c->body.n += n;
            c->body_left -= (int64_t)n;
            if (c->body_left == 0)
                body_is_whole(c);
        }
        c->processing = false;
    } else {
        c->in.n += n;
    }
    conn_process(c);
}

/* The client sends no more. It may still read: who asked gets the answer. */
static void ended(struct conn *c)
{
    c->eof = true;
    if (c->phase == CONN_HANDLING) {
        conn_settle(c);
    } else if (conn_out_waits(c)) {
        begin_phase(c, CONN_FLUSHING);
        conn_settle(c);
    } else {
        conn_drop(c);
    }
}

static void receive(struct conn *c)
{
    char *p;
    size_t got = 0, n = SCRATCH_BYTES;
    if (c->phase == CONN_LINGER)
        p = c->server->scratch;
    else
        n = space(c, &p);
    if (n == 0)
        return;
    enum stream_result result = stream_read(&c->stream, p, n, &got);
    if (result == STREAM_AGAIN)
        return;
    if (result == STREAM_OK && c->phase != CONN_LINGER)
        received(c, got);
    else if (result == STREAM_CLOSED)
        ended(c);
    else if (result != STREAM_OK)
        conn_drop(c);
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
        begin_phase(c, CONN_IDLE);
        events = IO_READ;
    }
    if ((events & IO_WRITE) && conn_out_waits(c)) {
        if (!conn_flush(c))
            return;
        if (c->phase == CONN_IDLE || c->phase == CONN_HEAD)
            conn_process(c); /* what waited for room in `out` */
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
    c->stream.ready = on_ready;
    if (!c->detached)
        stream_open(&c->stream, server->loop, fd, tls);
    begin_phase(c, tls ? CONN_TLS : CONN_IDLE);
    conn_settle(c);
    if (tls)
        on_ready(&c->stream, IO_READ);
    return c;
}

bool conn_feed(struct conn *c, const char *p, size_t n)
{
    ASSERT(c->detached);
    while (n > 0 && c->open && c->phase != CONN_FLUSHING) {
        char *to;
        size_t room = space(c, &to);
        if (room == 0)
            return true;
        size_t some = n < room ? n : room;
        memcpy(to, p, some);
        p += some;
        n -= some;
        received(c, some);
    }
    return c->open;
}

void conn_stop(struct conn *c)
{
    c->close_after = true;
    if (c->phase == CONN_TLS || (c->phase == CONN_IDLE && c->in.n == 0 && !conn_out_waits(c))) {
        conn_drop(c);
    } else if (c->phase == CONN_IDLE && c->in.n == 0) {
        begin_phase(c, CONN_FLUSHING);
        conn_settle(c);
    }
}
