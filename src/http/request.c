/* From bytes to requests: framing, passing to the handler, and the end of a request.
 *
 * Invariants. While a request is received or handled, `in` does not move, because the request
 * points into it; later bytes go to `ahead`. Only conn_process starts a request, and it is not
 * entered twice: a handler that answers at once only fills `out`, and the loop in conn_process
 * continues with the next pipelined request; one that answers later enters it again by
 * conn_request_done. So a small request costs one read and one write, and so does a series of
 * pipelined ones. */
#include "http/request.h"

#include "base/limits.h"
#include "http/forwarded.h"
#include "http/http2.h"
#include "http/response.h"
#include "http/room.h"
#include "http/turns.h"

#include <stdio.h>

#define READ_BYTES 4096
#define BODY_STEP_BYTES LIMIT_LARGE_BODY_BYTES /* allocated at once for an announced body */

static const char continue_line[] = "HTTP/1.1 100 Continue\r\n\r\n";

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

static void forget_request(struct conn *c)
{
    response_log(c);
    arena_free(&c->request.arena);
    c->request.magic = 0;
    c->drained = NULL;
    loop_timer_clear(c->request.loop, &c->drained_timer);
    keep_spare_body(c->server, &c->body);
    conn_leave_room(c);
    buf_consume(&c->in, c->used_bytes);
    if (c->ahead.n > 0) {
        buf_add(&c->in, c->ahead.p, c->ahead.n);
        buf_clear(&c->ahead);
    }
    if (c->in.n == 0 && !conn_may_keep(c, &c->in))
        buf_free(&c->in);
    if (c->ahead.n == 0 && !conn_may_keep(c, &c->ahead))
        buf_free(&c->ahead);
    c->scan = (struct head_scan){0};
    c->used_bytes = 0;
    c->answered = c->chunked_out = false;
    c->answer_whole = c->answer_whole && c->is_stream; /* a stream has no other request */
}

void conn_request_done(struct conn *c)
{
    ASSERT(c->phase == CONN_HANDLING);
    if (!c->open) {
        forget_request(c);
        c->phase = CONN_FLUSHING;
        conn_release(c);
        return;
    }
    forget_request(c);
    conn_begin_phase(c, c->close_after ? CONN_FLUSHING : CONN_IDLE);
    if (!c->processing)
        conn_process(c);
}

void conn_refuse(struct conn *c, int status, const char *detail)
{
    c->close_after = true;
    response_problem(c, status, detail);
    c->used_bytes = c->in.n;
    forget_request(c);
    c->body_whole = false; /* unknown: linger */
    conn_begin_phase(c, CONN_FLUSHING);
}

static void refuse_too_large(struct conn *c)
{
    char detail[80];
    snprintf(detail, sizeof detail, "the body is too large; this path takes %zu bytes",
             c->request.body_max_bytes);
    conn_refuse(c, 413, detail);
}

static void call_handler(struct conn *c, struct str body)
{
    c->body_whole = true;
    conn_keep_turn(c);
    c->request.body = body;
    conn_begin_phase(c, CONN_HANDLING);
    c->server->options.handle(c->server->options.context, &c->request);
}

#define LONG_EXTENSION                                                                             \
    "the extension of a chunk is too long (at most " NUMBER_AS_TEXT(                               \
        CHUNKED_EXTENSION_BYTES_MAX) " bytes)"
#define LONG_TRAILERS                                                                              \
    "the trailer fields are too long (at most " NUMBER_AS_TEXT(LIMIT_HEADER_BYTES) " bytes in "    \
                                                                                   "all)"

/* Takes bytes of a chunked body, *ret_used of them; those after its end belong to the next
 * request. */
static void take_chunked(struct conn *c, const char *p, size_t n, size_t *ret_used)
{
    size_t max = c->request.body_max_bytes;
    switch (chunked_decode(&c->chunked, p, n, &c->body, max, ret_used)) {
    case CHUNKED_MORE: return;
    case CHUNKED_END: c->body_whole = true; return;
    case CHUNKED_MALFORMED: conn_refuse(c, 400, "the chunked body is malformed"); return;
    case CHUNKED_TOO_LARGE: refuse_too_large(c); return;
    case CHUNKED_LONG_EXTENSION: conn_refuse(c, 400, LONG_EXTENSION); return;
    case CHUNKED_LONG_TRAILERS: conn_refuse(c, 400, LONG_TRAILERS); return;
    }
}

static void begin_body(struct conn *c)
{
    conn_begin_phase(c, CONN_BODY);
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
            call_handler(c, buf_str(&c->body));
            return;
        }
    } else {
        (void)buf_reserve(&c->body, (size_t)c->head.content_bytes);
        buf_add(&c->body, p, n);
        c->body_left = c->head.content_bytes - (int64_t)n;
    }
    /* Only if the client waits for it: a body that has begun needs no 100. */
    if (c->head.expects_continue && n == 0 && c->is_stream)
        http2_stream_continue(c);
    else if (c->head.expects_continue && n == 0)
        buf_add(&c->out, continue_line, sizeof continue_line - 1);
}

void conn_room_given(struct conn *c)
{
    ASSERT(c->phase == CONN_ROOM && !c->processing);
    c->processing = true;
    begin_body(c);
    if (c->is_stream)
        http2_stream_room_given(c);
    c->processing = false;
    conn_process(c);
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
    r->body_max_bytes = c->server->options.body_max_bytes;
    r->known = r->is_probe = false;
    r->account_no = 0;
    r->caller = STR_NONE;
    r->context = NULL;
    response_choose_id(c);
    c->began_mono_ms = loop_mono_ms(r->loop);
    const struct http_server_options *o = &c->server->options;
    if (o->trusted_proxy_count > 0) {
        forwarded_resolve(r, o->trusted_proxies, o->trusted_proxy_count);
        conn_set_client(c, &r->peer);
    }
}

/* The head is complete and valid. */
void conn_begin_request(struct conn *c)
{
    const struct http_server_options *o = &c->server->options;
    fill_request(c);
    if (c->client && c->client->connections > o->connections_per_address) {
        conn_refuse(c, 503, "there are too many connections from this address");
        return;
    }
    if (!c->head.keep_alive)
        c->close_after = true;
    size_t here = c->in.n - c->head_bytes;
    int64_t announced = c->head.chunked             ? -1
                        : c->head.content_bytes > 0 ? c->head.content_bytes
                                                    : 0;
    c->body_whole = announced >= 0 && (uint64_t)announced <= here;
    c->used_bytes = c->body_whole ? c->head_bytes + (size_t)announced : c->in.n;
    if (o->headers_in) {
        conn_begin_phase(c, CONN_HANDLING); /* it may answer */
        if (o->headers_in(o->context, &c->request)) {
            ASSERT(c->phase != CONN_HANDLING);
            return;
        }
        ASSERT(c->phase == CONN_HANDLING && !c->answered);
        if (c->request.known)
            conn_set_account(c, c->request.account_no);
        if (c->request.known && c->carrier)
            conn_set_account(c->carrier, c->request.account_no);
    }
    size_t most = c->request.body_max_bytes;
    if (announced > 0 && (uint64_t)announced > most)
        refuse_too_large(c);
    else if (c->body_whole)
        call_handler(c, (struct str){c->in.p + c->head_bytes, (size_t)announced});
    else if (conn_take_room(c, announced >= 0 ? announced : (int64_t)most))
        begin_body(c);
}

void conn_body_bytes(struct conn *c, const char *p, size_t n)
{
    ASSERT(c->is_stream && c->phase == CONN_BODY);
    if (n > c->request.body_max_bytes - c->body.n)
        refuse_too_large(c);
    else
        buf_add(&c->body, p, n);
    conn_count_waits(c, true);
}

void conn_body_end(struct conn *c)
{
    ASSERT(c->is_stream && c->phase == CONN_BODY);
    call_handler(c, buf_str(&c->body));
}

static void skip_empty_lines(struct conn *c)
{
    size_t n = 0; /* RFC 9112, section 2.2: some clients end a body with one */
    while (c->in.n - n >= 2 && c->in.p[n] == '\r' && c->in.p[n + 1] == '\n')
        n += 2;
    if (n > 0)
        buf_consume(&c->in, n);
}

/* Makes one step with the bytes in `in`. False: nothing to do for now. */
static bool take_head(struct conn *c)
{
    if (c->scan.seen == 0)
        skip_empty_lines(c);
    if (c->in.n == 0)
        return false;
    if (c->in.n == 1 && c->in.p[0] == '\r') { /* maybe half an empty line */
        if (c->phase == CONN_IDLE)
            conn_begin_phase(c, CONN_HEAD);
        return false;
    }
    struct head_refusal refusal = {0};
    switch (head_scan(&c->scan, c->in.p, c->in.n, &c->head_bytes, &refusal)) {
    case HEAD_MORE:
        if (c->phase == CONN_IDLE)
            conn_begin_phase(c, CONN_HEAD);
        return false;
    case HEAD_REFUSED: break;
    case HEAD_WHOLE:
        if (head_parse(&c->head, c->in.p, c->head_bytes, &refusal)) {
            conn_begin_request(c);
            return true;
        }
        break;
    }
    conn_refuse(c, refusal.status, refusal.detail);
    return false;
}

static bool receiving(const struct conn *c)
{
    return c->phase == CONN_IDLE || c->phase == CONN_HEAD || c->phase == CONN_BODY;
}

void conn_process(struct conn *c)
{
    ASSERT(!c->processing);
    c->processing = true;
    bool room;
    while ((room = c->out.n - c->out_at < OUT_MAX_BYTES) && c->open && receiving(c) &&
           c->phase != CONN_BODY && take_head(c)) {
    }
    /* After the client's end its received requests are still answered, but nothing more follows. */
    if (c->open && c->eof && room && receiving(c))
        conn_begin_phase(c, CONN_FLUSHING);
    c->processing = false;
    if (conn_flush(c))
        conn_settle(c);
    conn_release(c);
}

/* ---- reading */

size_t conn_space(struct conn *c, char **ret_p)
{
    struct buf *to = &c->in;
    size_t n = READ_BYTES;
    if (c->http2 || (c->phase == CONN_BODY && c->head.chunked)) {
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
    *ret_p = buf_reserve(to, n);
    return n;
}

void conn_received(struct conn *c, size_t n)
{
    if (c->http2) {
        http2_received(c, c->server->scratch, n);
        return;
    }
    if (c->phase == CONN_HANDLING) {
        c->ahead.n += n;
    } else if (c->phase == CONN_BODY) {
        c->processing = true;
        if (c->head.chunked) {
            size_t used = 0;
            take_chunked(c, c->server->scratch, n, &used);
            if (c->phase == CONN_BODY && c->body_whole) {
                buf_add(&c->ahead, c->server->scratch + used, n - used);
                call_handler(c, buf_str(&c->body));
            }
        } else {
            c->body.n += n;
            c->body_left -= (int64_t)n;
            if (c->body_left == 0)
                call_handler(c, buf_str(&c->body));
        }
        conn_count_waits(c, true);
        c->processing = false;
    } else {
        c->in.n += n;
    }
    conn_process(c);
}
