/* Incoming HTTP/2 (RFC 9113): one connection that has many requests. Each stream is a `struct conn`
 * without a socket, so that all bounds, deadlines, counts and answers of HTTP/1.1 hold for it, too.
 * Header fields become the lines that head_judge takes, DATA becomes the body; http2_answer.c does
 * the reverse. nghttp2 parses frames, compresses headers (RFC 7541), and refuses messages against
 * the rules: fields of a connection, repeated or missing pseudo-header fields, a body of another
 * length than announced (RFC 9113, section 8).
 *
 * Invariants. A connection with an open stream is in STREAMS. nghttp2 knows a stream by its id,
 * with our conn as user data, which is NULL once either side has ended it. nghttp2_session_mem_*
 * are never called from a callback: callbacks only queue frames. These are written when the
 * callbacks' caller (`processing`) is done, or by the timer.
 *
 * Floods: every frame costs credit, except DATA with bytes of a body and WINDOW_UPDATE for bytes of
 * ours; so does a stream that ends without an answer (rapid resets, CVE-2023-44487). Each sent part
 * of an answer earns some. Besides, nghttp2 bounds resets (1,000 at once, 33 a second),
 * CONTINUATION (8 a block), entries of SETTINGS (32), and acknowledgements that wait to be sent
 * (1,000). */
#include "http/http2.h"

#include "base/alloc.h"
#include "http/http2_session.h"
#include "http/request.h"
#include "http/room.h"

#include <pthread.h>
#include <stdlib.h>

#define OUTPUT_BYTES 32768 /* written at once; the rest waits for the socket */
#define PSEUDO_FIELDS 3    /* without a line in HTTP/1.1: method, scheme, path */
#define FIELD_OVERHEAD 32  /* for the size of a list (RFC 9113, section 10.5.1) */

#define FRAME_HEAD_BYTES 9
#define PADDING_MOST_BYTES 256 /* with its length byte */
#define UNKNOWN_BYTES_OF_CREDIT 64
#define COST_OF_KIB 1
#define COST_OF_LOST_STREAM 5

static nghttp2_session_callbacks *callbacks;
static nghttp2_option *options;
static pthread_once_t set_up_once = PTHREAD_ONCE_INIT;

struct conn *http2_stream_of(struct http2 *h, int32_t id)
{
    struct conn *s = id ? nghttp2_session_get_stream_user_data(h->session, id) : NULL;
    if (s)
        CHECK_MAGIC(s, CONN_MAGIC);
    return s;
}

void http2_wake(struct http2 *h)
{
    if (h->conn->open && !h->conn->processing)
        loop_timer_set(h->conn->request.loop, &h->flush_timer, loop_mono_ms(h->conn->request.loop));
}

static void reset_stream(struct http2 *h, int32_t id, uint32_t code)
{
    ASSERT(nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, id, code) == 0);
}

static void spend(struct http2 *h, int64_t credit)
{
    h->credit -= credit;
    if (h->credit >= 0)
        return;
    h->leaving = h->flooded = true; /* a second call does nothing */
    ASSERT(nghttp2_session_terminate_session(h->session, NGHTTP2_ENHANCE_YOUR_CALM) == 0);
}

void http2_earn(struct http2 *h, int64_t credit)
{
    h->credit = h->credit + credit < LIMIT_HTTP2_CREDIT ? h->credit + credit : LIMIT_HTTP2_CREDIT;
}

void http2_count_unsent(struct http2 *h, struct conn *s, size_t bytes)
{
    h->unsent_bytes += bytes - s->unsent_bytes;
    s->unsent_bytes = bytes;
}

/* ---- a stream's begin and end */

static bool open_stream(struct http2 *h, int32_t id)
{
    struct conn *c = h->conn;
    bool reserved = false;
    if (h->leaving || h->streams.count >= LIMIT_HTTP2_STREAMS ||
        h->unsent_bytes > LIMIT_HTTP2_UNSENT_BYTES)
        return false;
    conn_begin_phase(c, CONN_STREAMS); /* so that its own stream does not close it */
    if (!server_make_place(c->server, &c->peer.address, &reserved))
        return false;
    struct conn *s = conn_new(c->server, -1, NULL, &c->peer);
    s->is_stream = s->close_after = true;
    s->tls = c->tls;
    s->in_reserve = reserved || c->in_reserve;
    s->stream_id = id;
    s->carrier = c;
    list_push(&h->streams, &s->stream_link);
    h->open++;
    ASSERT(nghttp2_session_set_stream_user_data(h->session, id, s) == 0);
    if (c->account)
        conn_set_account(s, c->account->account_no);
    conn_begin_phase(s, CONN_HEAD);
    conn_settle(s);
    return true;
}

static void idle_without_streams(struct http2 *h)
{
    if (h->open == 0 && h->conn->open && h->conn->phase == CONN_STREAMS)
        conn_begin_phase(h->conn, CONN_IDLE);
}

bool http2_is_held_up(const struct conn *s)
{
    return s->carrier && s->carrier->http2->held_up;
}

/* For all other bodies the window is given back at once. */
static void look_at_window(struct http2 *h)
{
    bool held_up = nghttp2_session_get_local_window_size(h->session) <= 0;
    if (held_up == h->held_up)
        return;
    h->held_up = held_up;
    for (struct link *at = h->streams.first; at; at = at->next)
        conn_count_waits(CONTAINER_OF(at, struct conn, stream_link), false);
}

/* While its frames are handled the session does not become idle: closing streams to make room must
 * not end the session itself. */
static void end_processing(struct http2 *h)
{
    h->conn->processing = false;
    look_at_window(h);
    idle_without_streams(h);
}

void http2_stream_dropped(struct conn *s)
{
    struct conn *c = s->carrier;
    struct http2 *h = c->http2;
    h->open--;
    http2_count_unsent(h, s, 0);
    if (!c->open)
        return;
    if (s->unread_bytes)
        ASSERT(nghttp2_session_consume_connection(h->session, s->unread_bytes) == 0);
    if (s->stream_id) {
        ASSERT(nghttp2_session_set_stream_user_data(h->session, s->stream_id, NULL) == 0);
        if (!s->end_sent || !s->eof)
            reset_stream(h, s->stream_id, s->end_sent ? NGHTTP2_NO_ERROR : NGHTTP2_INTERNAL_ERROR);
    }
    if (!c->processing)
        idle_without_streams(h);
    http2_wake(h);
}

void http2_stream_freed(struct conn *s)
{
    ASSERT(s->carrier);
    list_remove(&s->carrier->http2->streams, &s->stream_link);
    s->carrier = NULL;
}

void http2_drop_streams(struct conn *c)
{
    struct link *next;
    for (struct link *at = c->http2->streams.first; at; at = next) {
        next = at->next;
        conn_drop(CONTAINER_OF(at, struct conn, stream_link));
    }
}

/* ---- frames in */

/* DATA with bytes of a body is free, because bodies have bounds of their own. DATA with only
 * padding, and frames for ended streams, are not. WINDOW_UPDATE is free if it gives back bytes that
 * we sent. */
static bool is_free(struct http2 *h, const nghttp2_frame_hd *frame)
{
    if (frame->type == NGHTTP2_WINDOW_UPDATE && h->window_updates_due > 0) {
        h->window_updates_due--;
        return true;
    }
    size_t least = frame->flags & NGHTTP2_FLAG_PADDED ? PADDING_MOST_BYTES + 1 : 1;
    return frame->type == NGHTTP2_DATA && frame->length >= least &&
           http2_stream_of(h, frame->stream_id);
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *frame, void *context)
{
    struct http2 *h = context;
    (void)session;
    if (!h->conn->open)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    h->unknown_bytes -= FRAME_HEAD_BYTES + (int64_t)frame->length;
    if (!is_free(h, frame))
        spend(h, 1 + COST_OF_KIB * (int64_t)(frame->length >> 10));
    return 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct http2 *h = context;
    (void)session;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    h->list_bytes = 0;
    h->refusal = (struct head_refusal){0};
    buf_clear(&h->cookie);
    if (!open_stream(h, frame->hd.stream_id))
        reset_stream(h, frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
    return 0;
}

/* The bytes go to `in`, which may still move: so the field has only lengths for now. */
static void add_field(struct conn *s, struct str name, struct str value)
{
    struct grammar_lines *lines = &s->head.lines;
    lines->headers = xgrow(lines->headers, &lines->header_capacity, lines->header_count + 1,
                           sizeof *lines->headers);
    lines->headers[lines->header_count++] = (struct http_header){{NULL, name.n}, {NULL, value.n}};
    buf_add(&s->in, name.p, name.n);
    buf_add(&s->in, value.p, value.n);
}

/* Also called for trailers, which are dropped. */
static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags,
                     void *context)
{
    struct http2 *h = context;
    struct conn *s = http2_stream_of(h, frame->hd.stream_id);
    struct str n = {(const char *)name, name_n}, v = {(const char *)value, value_n};
    (void)session, (void)flags;
    if (!s || s->phase != CONN_HEAD)
        return 0;
    h->list_bytes += name_n + value_n + FIELD_OVERHEAD;
    if (h->list_bytes > LIMIT_HEADER_BYTES)
        h->refusal = (struct head_refusal){431, TOO_LONG_HEAD};
    else if (s->head.lines.header_count >= LIMIT_HEADERS + PSEUDO_FIELDS)
        h->refusal = (struct head_refusal){431, TOO_MANY_FIELDS};
    if (h->refusal.status)
        return 0;
    if (str_is(n, "cookie")) {
        buf_add_c(&h->cookie, h->cookie.n ? "; " : "");
        buf_add_str(&h->cookie, v);
    } else {
        add_field(s, n, v);
    }
    return 0;
}

/* Sets the fields' pointers, and removes the pseudo-header fields: nghttp2 has checked that each
 * exists at most once, and that the required ones exist. */
static bool take_fields(struct http2 *h, struct conn *s, struct head_refusal *ret)
{
    struct grammar_lines *lines = &s->head.lines;
    struct str authority = STR_NONE, host = STR_NONE;
    size_t kept = 0;
    if (h->cookie.n > 0)
        add_field(s, STR("cookie"), buf_str(&h->cookie));
    buf_free(&h->cookie);
    const char *p = s->in.p;
    for (size_t i = 0; i < lines->header_count; i++) {
        struct http_header f = lines->headers[i];
        f.name.p = p;
        f.value.p = p + f.name.n;
        p = f.value.p + f.value.n;
        if (str_is(f.name, ":method"))
            lines->method = f.value;
        else if (str_is(f.name, ":path"))
            lines->target = f.value;
        else if (str_is(f.name, ":authority"))
            authority = f.value;
        if (str_is(f.name, "host"))
            host = f.value;
        f.value = str_trim(f.value);
        if (str_is(f.name, ":authority"))
            f.name = STR("host");
        else if (str_has_prefix(f.name, ":") || (str_is(f.name, "host") && authority.p))
            continue;
        lines->headers[kept++] = f;
    }
    lines->header_count = kept;
    lines->major = lines->minor = 1;
    *ret = (struct head_refusal){400, ":authority and Host are different hosts"};
    if (authority.p && host.p && !str_eq(authority, host))
        return false;
    *ret = (struct head_refusal){501, "the method is not known"};
    return grammar_knows_method(lines->method);
}

static void head_is_whole(struct http2 *h, struct conn *s, bool ends)
{
    struct head_refusal refusal = h->refusal;
    s->processing = true;
    s->eof = ends;
    if (!refusal.status && take_fields(h, s, &refusal) && head_judge(&s->head, &refusal)) {
        s->head_bytes = s->in.n;
        s->head.chunked = !ends && s->head.content_bytes < 0; /* its length is not announced */
        conn_begin_request(s);
    } else {
        conn_refuse(s, refusal.status, refusal.detail);
    }
    s->processing = false;
    conn_process(s);
}

static void body_is_whole(struct conn *s)
{
    s->eof = true;
    if (s->phase == CONN_LINGER)
        conn_drop(s);
    if (s->phase != CONN_BODY)
        return;
    s->processing = true;
    conn_body_end(s);
    s->processing = false;
    conn_process(s);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct http2 *h = context;
    struct conn *s = http2_stream_of(h, frame->hd.stream_id);
    (void)session;
    if (!s || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    bool ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (frame->hd.type == NGHTTP2_HEADERS && s->phase == CONN_HEAD)
        head_is_whole(h, s, ends);
    else if (ends)
        body_is_whole(s);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                   void *context)
{
    struct conn *s = http2_stream_of(context, id);
    (void)flags;
    if (!s) {
        ASSERT(nghttp2_session_consume_connection(session, n) == 0);
        return 0;
    }
    if (s->phase == CONN_ROOM) { /* the windows stay closed, so that the body stays unread */
        buf_add(&s->ahead, p, n);
        s->unread_bytes += n;
        conn_count_buffers(s);
        return 0;
    }
    if (s->phase == CONN_FLUSHING) { /* refused, and the client does not read the answer */
        ASSERT(nghttp2_session_consume_connection(session, n) == 0);
        return 0;
    }
    ASSERT(nghttp2_session_consume(session, id, n) == 0);
    if (s->phase == CONN_LINGER)
        conn_drop_bytes(s, n);
    if (s->phase != CONN_BODY)
        return 0;
    s->processing = true;
    conn_body_bytes(s, (const char *)p, n);
    s->processing = false;
    conn_process(s);
    return 0;
}

static void give_windows_back(struct conn *s)
{
    struct http2 *h = s->carrier->http2;
    ASSERT(nghttp2_session_consume(h->session, s->stream_id, s->unread_bytes) == 0);
    s->unread_bytes = 0;
    http2_wake(h);
}

void http2_stream_room_refused(struct conn *s)
{
    give_windows_back(s);
    buf_free(&s->ahead);
}

void http2_stream_room_given(struct conn *s)
{
    give_windows_back(s);
    if (s->phase == CONN_BODY)
        conn_body_bytes(s, s->ahead.p, s->ahead.n);
    buf_clear(&s->ahead);
    if (s->phase == CONN_BODY && s->eof)
        conn_body_end(s);
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *context)
{
    struct http2 *h = context;
    struct conn *s = http2_stream_of(h, id);
    (void)session, (void)code;
    if (!s)
        return 0;
    s->stream_id = 0;
    if (!s->end_sent)
        spend(h, COST_OF_LOST_STREAM);
    conn_drop(s);
    return 0;
}

/* ---- the connection */

static void set_up(void)
{
    ASSERT(nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&options) == 0);
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, http2_on_frame_send);
    nghttp2_option_set_no_auto_window_update(options, 1);
    nghttp2_option_set_no_closed_streams(options, 1);
}

static void on_flush_timer(struct timer *timer)
{
    struct http2 *h = CONTAINER_OF(timer, struct http2, flush_timer);
    CHECK_MAGIC(h, HTTP2_MAGIC);
    struct conn *c = h->conn;
    http2_look_for_window(h);
    if (conn_flush(c))
        conn_settle(c);
}

void http2_start(struct conn *c)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, LIMIT_HTTP2_STREAMS},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, LIMIT_HTTP2_WINDOW_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_HEADER_BYTES},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    pthread_once(&set_up_once, set_up);
    struct http2 *h = xcalloc(1, sizeof *h);
    h->magic = HTTP2_MAGIC;
    h->conn = c;
    h->credit = LIMIT_HTTP2_CREDIT;
    h->piece_least_bytes = HTTP2_PIECE_BYTES;
    h->flush_timer.fire = on_flush_timer;
    ASSERT(nghttp2_session_server_new2(&h->session, callbacks, h, options) == 0);
    ASSERT(nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings)) ==
           0);
    ASSERT(nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0,
                                                 LIMIT_HTTP2_WINDOW_BYTES) == 0);
    c->http2 = h;
    http2_wake(h);
}

void http2_free(struct conn *c)
{
    struct http2 *h = c->http2;
    CHECK_MAGIC(h, HTTP2_MAGIC);
    while (h->streams.first) /* closed streams whose handlers have not answered */
        http2_stream_freed(CONTAINER_OF(h->streams.first, struct conn, stream_link));
    loop_timer_clear(c->request.loop, &h->flush_timer);
    nghttp2_session_del(h->session); /* without callbacks */
    buf_free(&h->cookie);
    h->magic = 0;
    c->http2 = NULL;
    free(h);
}

void http2_received(struct conn *c, const char *p, size_t n)
{
    ASSERT(!c->processing);
    c->processing = true;
    struct http2 *h = c->http2;
    ssize_t used = nghttp2_session_mem_recv(h->session, (const uint8_t *)p, n);
    h->unknown_bytes += (int64_t)n;
    for (; h->unknown_bytes >= UNKNOWN_BYTES_OF_CREDIT; h->unknown_bytes -= UNKNOWN_BYTES_OF_CREDIT)
        spend(h, 1);
    if (used < 0) /* not HTTP/2, or a flood that nghttp2 has found */
        conn_drop(c);
    end_processing(h);
    http2_look_for_window(h);
    if (conn_flush(c))
        conn_settle(c);
    conn_release(c);
}

/* GOAWAY may wait for a client that reads nothing: bytes after the flood stay in its socket. */
bool http2_is_read(const struct conn *c)
{
    return !c->http2->flooded;
}

void http2_leave(struct conn *c)
{
    struct http2 *h = c->http2;
    if (h->leaving)
        return;
    h->leaving = true;
    ASSERT(nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE,
                                 nghttp2_session_get_last_proc_stream_id(h->session),
                                 NGHTTP2_NO_ERROR, NULL, 0) == 0);
}

static bool is_over(const struct http2 *h)
{
    return (h->leaving && h->open == 0) ||
           (!nghttp2_session_want_read(h->session) && !nghttp2_session_want_write(h->session));
}

bool http2_fill(struct conn *c)
{
    struct http2 *h = c->http2;
    if (c->processing || c->phase == CONN_FLUSHING || c->phase == CONN_LINGER)
        return false;
    buf_clear(&c->out);
    c->out_at = 0;
    c->write_deadline = INT64_MAX;
    c->processing = true;
    while (c->out.n < OUTPUT_BYTES) {
        const uint8_t *p = NULL;
        ssize_t n = nghttp2_session_mem_send(h->session, &p);
        ASSERT(n >= 0); /* only without memory, or if a callback fails: neither happens */
        if (n == 0)
            break;
        buf_add(&c->out, p, (size_t)n);
    }
    end_processing(h);
    if (c->out.n == 0 && is_over(h)) {
        http2_drop_streams(c);
        conn_begin_phase(c, CONN_FLUSHING);
    }
    return c->out.n > 0;
}
