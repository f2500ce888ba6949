/* HTTP/2: turns the text of an answer's head into header fields, and sends the rest as DATA when
 * the client's windows allow.
 *
 * If a client enlarges its windows frame by frame, frames must not become ever smaller, as with
 * TCP's silly windows (RFC 9293, section 3.8.6.2.1). So bytes that the windows allow wait unless
 * they are the whole rest, HTTP2_PIECE_BYTES, or half of a stream's initial window. They wait for
 * at most LIMIT_WINDOW_WAIT_MS, because some clients enlarge a window only when it is used up.
 * After a wait in vain, pieces as small as the windows allowed then are sent at once, until the
 * windows allow HTTP2_PIECE_BYTES; after three waits in vain nothing of the connection waits. */
#include "http/http2_session.h"

#include "http/http2.h"
#include "http/room.h"

#define ANSWER_FIELDS_MAX 64
#define CREDIT_OF_DATA 4
#define CREDIT_OF_ANSWER 50
#define PIECE_WAITS_MOST 3 /* in vain; then the connection's answers do not wait any more */

/* room: bytes that the windows allow now. */
static bool waits_for_window(struct http2 *h, struct conn *s, size_t left, size_t room)
{
    uint32_t window =
        nghttp2_session_get_remote_settings(h->session, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE);
    int64_t now = loop_mono_ms(s->request.loop);
    if (room >= HTTP2_PIECE_BYTES)
        h->piece_least_bytes = HTTP2_PIECE_BYTES;
    if (room >= left || room >= h->piece_least_bytes || room >= window - window / 2 ||
        h->waits_in_vain >= PIECE_WAITS_MOST) {
        s->window_since_ms = 0;
        return false;
    }
    if (s->window_since_ms == 0)
        s->window_since_ms = now;
    int64_t until = s->window_since_ms + s->server->options.window_wait_ms;
    if (now < until) {
        if (!h->flush_timer.heap_place)
            loop_timer_set(s->request.loop, &h->flush_timer, until);
        return true;
    }
    h->piece_least_bytes = room;
    h->waits_in_vain++;
    s->window_since_ms = 0;
    return false;
}

void http2_look_for_window(struct http2 *h)
{
    for (struct link *at = h->streams.first; at; at = at->next) {
        struct conn *s = CONTAINER_OF(at, struct conn, stream_link);
        if (s->window_since_ms)
            (void)nghttp2_session_resume_data(h->session, s->stream_id); /* it may have ended */
    }
}

static ssize_t read_answer(nghttp2_session *session, int32_t id, uint8_t *to, size_t room,
                           uint32_t *flags, nghttp2_data_source *source, void *context)
{
    struct http2 *h = context;
    struct conn *s = http2_stream_of(h, id);
    (void)session, (void)source;
    if (!s)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    size_t left = s->out.n - s->out_at, n = left < room ? left : room;
    if (waits_for_window(h, s, left, room))
        return NGHTTP2_ERR_DEFERRED;
    if (n)
        memcpy(to, s->out.p + s->out_at, n);
    s->out_at += n;
    http2_count_unsent(h, s, left - n);
    conn_count_waits(s, n > 0);
    if (n == left && s->answer_whole)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    else if (n == 0)
        return NGHTTP2_ERR_DEFERRED;
    return (ssize_t)n;
}

/* An unwanted body is still received for a while, as over HTTP/1.1: some clients lose the answer if
 * RST_STREAM follows at once. */
static void answer_is_sent(struct conn *s)
{
    s->end_sent = true;
    if (s->eof || s->phase != CONN_FLUSHING) {
        conn_drop(s);
        return;
    }
    conn_out_taken(s);
    conn_begin_linger(s);
    conn_settle(s);
}

int http2_on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct http2 *h = context;
    struct conn *s = http2_stream_of(h, frame->hd.stream_id);
    (void)session;
    if (!s || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    bool taken = !conn_out_waits(s);
    if (frame->hd.type == NGHTTP2_DATA)
        h->window_updates_due += LIMIT_HTTP2_WINDOW_UPDATES(frame->hd.length);
    /* A client that opens its window byte by byte earns nothing. */
    if (frame->hd.type == NGHTTP2_DATA && (taken || frame->hd.length >= 1024))
        http2_earn(h, CREDIT_OF_DATA);
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
        http2_earn(h, CREDIT_OF_ANSWER);
        answer_is_sent(s);
    } else if (taken && frame->hd.type == NGHTTP2_DATA) {
        conn_out_taken(s);
        conn_count_buffers(s);
    }
    return 0;
}

/* True for a value that changes each time or is secret: not indexed by the compression. */
static bool is_once(const char *name, const char *end)
{
    struct str n = {name, (size_t)(end - name)};
    return str_is(n, "set-cookie") || str_is(n, "x-request-id");
}

/* "Name: value\r\n" lines; names are lower-cased in place. */
static size_t cut_fields(char *p, const char *end, nghttp2_nv *fields)
{
    size_t count = 0;
    while (p < end) {
        char *colon = memchr(p, ':', (size_t)(end - p));
        const char *cr = memmem(p, (size_t)(end - p), "\r\n", 2);
        ASSERT(colon && cr && colon < cr && count < ANSWER_FIELDS_MAX);
        for (char *at = p; at < colon; at++)
            *at = char_lower(*at);
        const char *value = colon[1] == ' ' ? colon + 2 : colon + 1;
        fields[count++] = (nghttp2_nv){.name = str_bytes(p),
                                       .value = str_bytes(value),
                                       .namelen = (size_t)(colon - p),
                                       .valuelen = (size_t)(cr - value),
                                       .flags = is_once(p, colon) ? NGHTTP2_NV_FLAG_NO_INDEX
                                                                  : NGHTTP2_NV_FLAG_NONE};
        p += cr + 2 - p;
    }
    return count;
}

/* `out` has the answer's head as for HTTP/1.1: a status line, fields, an empty line. */
static void send_head(struct http2 *h, struct conn *s)
{
    nghttp2_nv fields[1 + ANSWER_FIELDS_MAX];
    nghttp2_data_provider body = {.read_callback = read_answer};
    char *head = s->out.p, *end = memmem(head, s->out.n, "\r\n\r\n", 4);
    ASSERT(end && end - head > 12);
    fields[0] = (nghttp2_nv){.name = str_bytes(":status"),
                             .value = str_bytes(head + 9), /* after "HTTP/1.1 " */
                             .namelen = 7,
                             .valuelen = 3,
                             .flags = NGHTTP2_NV_FLAG_NONE};
    char *first = memmem(head, s->out.n, "\r\n", 2);
    size_t count = 1 + cut_fields(first + 2, end + 2, fields + 1);
    s->out_at = (size_t)(end + 4 - head);
    s->head_sent = true;
    bool ends = s->answer_whole && !conn_out_waits(s);
    ASSERT(nghttp2_submit_response(h->session, s->stream_id, fields, count, ends ? NULL : &body) ==
           0);
}

void http2_stream_flush(struct conn *s)
{
    struct http2 *h = s->carrier->http2;
    if (!s->head_sent && !conn_out_waits(s))
        return;
    if (!s->head_sent)
        send_head(h, s);
    else
        (void)nghttp2_session_resume_data(h->session, s->stream_id); /* it may not be deferred */
    if (!conn_out_waits(s) && !s->answer_whole)
        conn_out_taken(s);
    else if (s->write_deadline == INT64_MAX)
        s->write_deadline = loop_mono_ms(s->request.loop) + s->server->options.request_deadline_ms;
    http2_count_unsent(h, s, s->out.n - s->out_at);
    http2_wake(h);
}

void http2_stream_continue(struct conn *s)
{
    nghttp2_nv status = {.name = str_bytes(":status"),
                         .value = str_bytes("100"),
                         .namelen = 7,
                         .valuelen = 3,
                         .flags = NGHTTP2_NV_FLAG_NONE};
    ASSERT(nghttp2_submit_headers(s->carrier->http2->session, NGHTTP2_FLAG_NONE, s->stream_id, NULL,
                                  &status, 1, NULL) == 0);
    http2_wake(s->carrier->http2);
}
