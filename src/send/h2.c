/* The bytes of HTTP/2: see h2.h.
 *
 * nghttp2 knows a stream by its user data, which is NULL after h2_forget. The body's bytes are
 * found by it, too, so that nothing is read from a caller that has gone. nghttp2 must not be
 * entered again from its callbacks: they only note changes, which h2_next reports. */
#include "send/h2.h"

#include "base/alloc.h"
#include "send/receiver_answer.h"

#include <nghttp2/nghttp2.h>
#include <pthread.h>
#include <stdlib.h>

#define H2_MAGIC 0x48325345u
#define FIRST_STREAMS 100 /* the recommended minimum for peers (RFC 9113, section 6.5.2) */
#define HEADERS_MOST 32   /* in one request */
#define RESET_FRAMES 64   /* that may still arrive after a stream was reset */
#define WINDOW_UPDATE_BYTES 13
#define HEADER_OVERHEAD 32 /* per line, added to its size (RFC 9113, section 10.5.1) */

struct h2 {
    uint32_t magic;
    nghttp2_session *session;
    struct h2_stream *changed_first, *changed_last;
    uint32_t open;
    uint32_t first_streams;          /* allowed until the peer's SETTINGS come */
    int64_t idle_frames, idle_bytes; /* below 0: allowance for streams that were reset here */
    int64_t window_updates_due;      /* by what was sent: they are not idle */
    bool settings_came, leaving, gave_up;
    uint32_t leaving_code, gave_up_code;
    const char *why;   /* the reason of h2_broken found by h2.c, */
    char *nghttp2_why; /* or by nghttp2 */
    uint8_t last_frame;
    char first[8]; /* bytes, to show what came instead of HTTP/2 */
    uint8_t first_bytes;
};

static nghttp2_session_callbacks *callbacks;
static nghttp2_option *options;
static pthread_once_t set_up_once = PTHREAD_ONCE_INIT;

static void note_changed(struct h2 *h2, struct h2_stream *stream)
{
    if (stream->is_changed)
        return;
    stream->is_changed = true;
    stream->changed_next = NULL;
    *(h2->changed_last ? &h2->changed_last->changed_next : &h2->changed_first) = stream;
    h2->changed_last = stream;
}

static void set_end(struct h2 *h2, struct h2_stream *stream, enum h2_end end)
{
    if (stream->end == H2_OPEN)
        stream->end = end;
    note_changed(h2, stream);
}

static struct h2_stream *stream_of(struct h2 *h2, int32_t id)
{
    return nghttp2_session_get_stream_user_data(h2->session, id);
}

static void reset_stream(struct h2 *h2, int32_t id, uint32_t code)
{
    ASSERT(nghttp2_submit_rst_stream(h2->session, NGHTTP2_FLAG_NONE, id, code) == 0);
}

static void refuse(struct h2 *h2, struct h2_stream *stream, const char *why)
{
    if (stream->end != H2_OPEN)
        return;
    stream->why = why;
    set_end(h2, stream, H2_BAD);
    reset_stream(h2, stream->id, NGHTTP2_PROTOCOL_ERROR);
}

/* ---- received frames */

static const char *frame_name(uint8_t type)
{
    static const char *const names[] = {
        "DATA",         "HEADERS", "PRIORITY", "RST_STREAM",    "SETTINGS",
        "PUSH_PROMISE", "PING",    "GOAWAY",   "WINDOW_UPDATE", "CONTINUATION",
    };
    return type < ARRAY_LEN(names) ? names[type] : "unknown";
}

static void uncount_idle_bytes(struct h2 *h2, size_t n)
{
    if (h2->idle_bytes > 0)
        h2->idle_bytes -= (int64_t)n < h2->idle_bytes ? (int64_t)n : h2->idle_bytes;
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *frame, void *context)
{
    struct h2 *h2 = context;
    (void)session;
    h2->last_frame = frame->type;
    if (frame->type == NGHTTP2_WINDOW_UPDATE && h2->window_updates_due > 0) {
        h2->window_updates_due--;
        uncount_idle_bytes(h2, WINDOW_UPDATE_BYTES);
        return 0;
    }
    if (++h2->idle_frames <= LIMIT_HTTP2_FRAMES_IDLE)
        return 0;
    h2->why = "it floods the connection with frames that say nothing";
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct h2_stream *stream = stream_of(context, frame->hd.stream_id);
    (void)session;
    if (!stream)
        return 0;
    stream->begun = true;
    if (!stream->headers_complete && stream->headers)
        buf_clear(stream->headers);
    stream->block_status = 0;
    return 0;
}

static int status_of(struct str value)
{
    int status = 0;
    for (size_t i = 0; i < value.n; i++)
        status =
            char_is_digit(value.p[i]) && status < 1000 ? status * 10 + (value.p[i] - '0') : 1000;
    return status;
}

/* Gets trailers, too, which are dropped. */
static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags,
                     void *context)
{
    struct h2 *h2 = context;
    struct h2_stream *stream = stream_of(h2, frame->hd.stream_id);
    (void)session, (void)flags;
    if (!stream || stream->end != H2_OPEN || stream->headers_complete)
        return 0;
    size_t size = name_n + value_n + HEADER_OVERHEAD;
    if (size > LIMIT_ATTEMPT_HEADER_BYTES - stream->head_bytes) {
        refuse(h2, stream, HEADER_LINES_TOO_LONG);
        return 0;
    }
    stream->head_bytes += (uint32_t)size;
    if (name_n > 0 && name[0] == ':') { /* nghttp2 lets only :status through */
        stream->block_status = status_of((struct str){(const char *)value, value_n});
        return 0;
    }
    if (stream->headers) {
        buf_add(stream->headers, name, name_n);
        buf_add_c(stream->headers, ": ");
        buf_add(stream->headers, value, value_n);
        buf_add_char(stream->headers, '\n');
    }
    return 0;
}

static void note_answer(struct h2 *h2)
{
    h2->idle_frames = h2->idle_frames < 0 ? h2->idle_frames : 0;
    h2->idle_bytes = h2->idle_bytes < 0 ? h2->idle_bytes : 0;
}

static void end_of_headers(struct h2 *h2, struct h2_stream *stream)
{
    int status = stream->block_status;
    if (stream->headers_complete || stream->end != H2_OPEN)
        return;
    if (status >= 100 && status <= 199) {
        if (++stream->interim_count > LIMIT_INTERIM_ANSWERS)
            refuse(h2, stream, "interim answers (1xx) follow each other without end");
        return;
    }
    if (status < 200 || status > 599) {
        refuse(h2, stream, "its status is not between 100 and 599");
        return;
    }
    stream->status = status;
    stream->headers_complete = true;
    note_answer(h2);
    note_changed(h2, stream);
}

/* The peer has ended the stream. An unfinished request is then reset (RFC 9113, section 8.1). */
static void end_of_answer(struct h2 *h2, struct h2_stream *stream)
{
    if (stream->end != H2_OPEN)
        return;
    set_end(h2, stream, H2_ENDED);
    note_answer(h2);
    if (!stream->sent)
        reset_stream(h2, stream->id, NGHTTP2_CANCEL);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct h2 *h2 = context;
    struct h2_stream *stream = NULL;
    (void)session;
    if (frame->hd.stream_id != 0)
        stream = stream_of(h2, frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_SETTINGS && !(frame->hd.flags & NGHTTP2_FLAG_ACK))
        h2->settings_came = true;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        h2->leaving = true;
        h2->leaving_code = frame->goaway.error_code;
    }
    if (!stream)
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS)
        end_of_headers(h2, stream);
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
        stream->code = frame->rst_stream.error_code;
        set_end(h2, stream, stream->code == NGHTTP2_REFUSED_STREAM ? H2_REFUSED : H2_RESET);
    }
    if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        end_of_answer(h2, stream);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                   void *context)
{
    struct h2 *h2 = context;
    struct h2_stream *stream = stream_of(h2, id);
    (void)flags;
    ASSERT(nghttp2_session_consume_connection(session, n) == 0);
    uncount_idle_bytes(h2, n); /* the windows bound these */
    if (!stream)
        return 0;
    stream->body_bytes += (uint32_t)n;
    if (stream->body) {
        size_t room = LIMIT_ATTEMPT_BODY_KEPT_BYTES - stream->body->n;
        buf_add(stream->body, p, n < room ? n : room);
        stream->body_is_cut |= n > room;
    }
    note_changed(h2, stream);
    return 0;
}

/* Stores nghttp2's description of an error. */
static int on_error(nghttp2_session *session, int code, const char *text, size_t n, void *context)
{
    struct h2 *h2 = context;
    (void)session, (void)code;
    free(h2->nghttp2_why);
    h2->nghttp2_why = xmalloc(n + 1);
    memcpy(h2->nghttp2_why, text, n);
    h2->nghttp2_why[n] = '\0';
    return 0;
}

static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int code,
                            void *context)
{
    struct h2 *h2 = context;
    struct h2_stream *stream = NULL;
    (void)session;
    if (frame->hd.stream_id != 0)
        stream = stream_of(h2, frame->hd.stream_id);
    if (!h2->nghttp2_why) {
        struct buf text = {0};
        buf_printf(&text, "%s in a %s frame", nghttp2_strerror(code), frame_name(frame->hd.type));
        (void)buf_c(&text);
        h2->nghttp2_why = text.p;
    }
    if (stream && stream->end == H2_OPEN) {
        stream->nghttp2_why = xstrdup(h2->nghttp2_why);
        set_end(h2, stream, H2_BAD); /* nghttp2 resets the stream or ends the connection */
    }
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *context)
{
    struct h2 *h2 = context;
    struct h2_stream *stream = stream_of(h2, id);
    (void)session;
    h2->open--;
    if (!stream)
        return 0;
    stream->closed = true;
    if (stream->end == H2_OPEN) {
        stream->code = code;
        set_end(h2, stream, code == NGHTTP2_REFUSED_STREAM ? H2_REFUSED : H2_BAD);
    }
    note_changed(h2, stream);
    return 0;
}

/* ---- sent frames */

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct h2 *h2 = context;
    struct h2_stream *stream = NULL;
    (void)session;
    if (frame->hd.stream_id != 0)
        stream = stream_of(context, frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_DATA)
        h2->window_updates_due += LIMIT_HTTP2_WINDOW_UPDATES(frame->hd.length);
    if (frame->hd.type == NGHTTP2_GOAWAY) { /* nghttp2 sends it if the peer breaks a rule */
        h2->gave_up = true;
        h2->gave_up_code = frame->goaway.error_code;
    }
    if (!stream)
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS)
        stream->headers_sent = true;
    if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        stream->sent = true;
    return 0;
}

/* A request was never sent: the peer left first, or it was cancelled. */
static int on_frame_not_send(nghttp2_session *session, const nghttp2_frame *frame, int code,
                             void *context)
{
    struct h2 *h2 = context;
    (void)code;
    if (frame->hd.type != NGHTTP2_HEADERS ||
        nghttp2_session_find_stream(session, frame->hd.stream_id))
        return 0; /* on_stream_close handles the others */
    h2->open--;
    struct h2_stream *stream = stream_of(h2, frame->hd.stream_id);
    if (stream) {
        stream->closed = true;
        set_end(h2, stream, H2_REFUSED);
    }
    return 0;
}

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *to, size_t room,
                         uint32_t *flags, nghttp2_data_source *source, void *context)
{
    struct h2_stream *stream = stream_of(context, id);
    (void)session, (void)source;
    if (!stream)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    size_t left = stream->request_body.n - stream->sent_bytes;
    size_t n = left < room ? left : room;
    memcpy(to, stream->request_body.p + stream->sent_bytes, n);
    stream->sent_bytes += n;
    if (n == left)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

/* ---- the session */

static void set_up(void)
{
    ASSERT(nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&options) == 0);
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_error_callback2(callbacks, on_error);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_send);
    nghttp2_option_set_no_auto_window_update(options, 1);
}

struct h2 *h2_new(uint32_t first_streams)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, LIMIT_ATTEMPT_BODY_DRAINED_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_ATTEMPT_HEADER_BYTES},
    };
    pthread_once(&set_up_once, set_up);
    struct h2 *h2 = xcalloc(1, sizeof *h2);
    h2->magic = H2_MAGIC;
    h2->first_streams = first_streams > 0 ? first_streams : FIRST_STREAMS;
    ASSERT(nghttp2_session_client_new2(&h2->session, callbacks, h2, options) == 0);
    ASSERT(nghttp2_submit_settings(h2->session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings)) ==
           0);
    return h2;
}

void h2_free(struct h2 *h2)
{
    CHECK_MAGIC(h2, H2_MAGIC);
    nghttp2_session_del(h2->session); /* does not call the callbacks */
    free(h2->nghttp2_why);
    h2->magic = 0;
    free(h2);
}

uint32_t h2_allowed_streams(const struct h2 *h2)
{
    CHECK_MAGIC(h2, H2_MAGIC);
    if (!h2->settings_came)
        return 0;
    return nghttp2_session_get_remote_settings(h2->session,
                                               NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

uint32_t h2_room(const struct h2 *h2)
{
    CHECK_MAGIC(h2, H2_MAGIC);
    uint32_t most = h2->settings_came ? h2_allowed_streams(h2) : h2->first_streams;
    if (h2->leaving || h2_broken(h2) || !nghttp2_session_check_request_allowed(h2->session))
        return 0;
    return h2->open < most ? most - h2->open : 0;
}

bool h2_submit(struct h2 *h2, struct h2_stream *stream, const struct h2_header *headers,
               size_t count)
{
    CHECK_MAGIC(h2, H2_MAGIC);
    nghttp2_nv lines[HEADERS_MOST];
    nghttp2_data_provider body = {.read_callback = read_body};
    ASSERT(count <= HEADERS_MOST);
    for (size_t i = 0; i < count; i++)
        lines[i] = (nghttp2_nv){
            .name = str_bytes(headers[i].name.p),
            .value = str_bytes(headers[i].value.p),
            .namelen = headers[i].name.n,
            .valuelen = headers[i].value.n,
            .flags = headers[i].once ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE,
        };
    int32_t id = nghttp2_submit_request(h2->session, NULL, lines, count,
                                        stream->request_body.n > 0 ? &body : NULL, stream);
    if (id < 0)
        return false;
    stream->id = id;
    h2->open++;
    return true;
}

static void unlink_changed(struct h2 *h2, struct h2_stream *stream)
{
    struct h2_stream **at = &h2->changed_first, *before = NULL;
    while (*at != stream) {
        before = *at;
        at = &before->changed_next;
    }
    *at = stream->changed_next;
    if (h2->changed_last == stream)
        h2->changed_last = before;
    stream->is_changed = false;
}

void h2_forget(struct h2 *h2, struct h2_stream *stream)
{
    CHECK_MAGIC(h2, H2_MAGIC);
    if (stream->is_changed)
        unlink_changed(h2, stream);
    if (!stream->closed) {
        ASSERT(nghttp2_session_set_stream_user_data(h2->session, stream->id, NULL) == 0);
        if (stream->end == H2_OPEN || (stream->end == H2_ENDED && !stream->sent)) {
            reset_stream(h2, stream->id, NGHTTP2_CANCEL);
            h2->idle_bytes -= LIMIT_ATTEMPT_BODY_DRAINED_BYTES;
            h2->idle_frames -= RESET_FRAMES;
        }
    }
    free(stream->nghttp2_why);
    stream->nghttp2_why = NULL;
}

void h2_keep_nothing(struct h2_stream *stream)
{
    stream->headers = NULL;
    stream->body = NULL;
}

static void note_first(struct h2 *h2, const char *p, size_t n)
{
    size_t room = sizeof h2->first - h2->first_bytes;
    size_t take = n < room ? n : room;
    memcpy(h2->first + h2->first_bytes, p, take);
    h2->first_bytes = (uint8_t)(h2->first_bytes + take);
}

void h2_feed(struct h2 *h2, const char *p, size_t n)
{
    CHECK_MAGIC(h2, H2_MAGIC);
    if (h2->first_bytes < sizeof h2->first)
        note_first(h2, p, n);
    h2->idle_bytes += (int64_t)n;
    ssize_t used = nghttp2_session_mem_recv(h2->session, (const uint8_t *)p, n);
    if (used < 0 && !h2->why)
        h2->why = nghttp2_strerror((int)used);
    if (h2->idle_bytes > LIMIT_HTTP2_BYTES_IDLE && !h2->why)
        h2->why = "it floods the connection with bytes that say nothing";
}

bool h2_broken(const struct h2 *h2)
{
    return h2->why || h2->gave_up;
}

bool h2_has_next(const struct h2 *h2)
{
    return h2->changed_first;
}

struct h2_stream *h2_next(struct h2 *h2)
{
    struct h2_stream *stream = h2->changed_first;
    if (stream)
        unlink_changed(h2, stream);
    return stream;
}

void h2_output(struct h2 *h2, struct buf *to, size_t most)
{
    CHECK_MAGIC(h2, H2_MAGIC);
    while (to->n < most) {
        const uint8_t *p = NULL;
        ssize_t n = nghttp2_session_mem_send(h2->session, &p);
        ASSERT(n >= 0); /* out of memory, or a failed callback: neither happens */
        if (n == 0 || h2->why)
            return;
        buf_add(to, p, (size_t)n);
    }
}

/* ---- sentences */

void h2_print_why(struct buf *to, const struct h2 *h2)
{
    if (h2->first_bytes >= 5 && memcmp(h2->first, "HTTP/", 5) == 0)
        buf_add_c(to, "it agreed to HTTP/2 in the TLS handshake (ALPN) but answers in HTTP/1.1");
    else if (h2->idle_frames > LIMIT_HTTP2_FRAMES_IDLE)
        buf_printf(to, "%s (%s)", h2->why, frame_name(h2->last_frame));
    else if (h2->why || h2->nghttp2_why)
        buf_add_c(to, h2->why ? h2->why : h2->nghttp2_why);
    else
        buf_printf(to, "it breaks the rules (%s)", h2_code_name(h2->gave_up_code));
}

void h2_stream_print_why(struct buf *to, const struct h2_stream *stream)
{
    if (stream->why || stream->nghttp2_why)
        buf_add_c(to, stream->why ? stream->why : stream->nghttp2_why);
    else
        buf_add_c(to, h2_code_name(stream->code));
}

const char *h2_code_name(uint32_t code)
{
    return nghttp2_http2_strerror(code);
}

uint32_t h2_leaving_code(const struct h2 *h2)
{
    return h2->leaving_code;
}
