/* Writing responses into a connection's `out`. */
#include "http/response.h"

#include "domain/clock.h"
#include "domain/traceparent.h"
#include "http/access_log.h"
#include "http/request.h"

#include <stdatomic.h>

struct status_title {
    int status;
    const char *title;
};

static const struct status_title titles[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

const char *http_status_title(int status)
{
    for (size_t i = 0; i < ARRAY_LEN(titles); i++) {
        if (titles[i].status == status)
            return titles[i].title;
    }
    return "Status";
}

static atomic_llong counted[400]; /* by status - 200 */

int64_t http_responses(int status)
{
    ASSERT(status >= 200 && status <= 599);
    return atomic_load_explicit(&counted[status - 200], memory_order_relaxed);
}

static struct conn *conn_of(struct http_request *r)
{
    CHECK_MAGIC(r, HTTP_REQUEST_MAGIC);
    struct conn *c = CONTAINER_OF(r, struct conn, request);
    CHECK_MAGIC(c, CONN_MAGIC);
    ASSERT(c->phase == CONN_HANDLING);
    return c;
}

/* Once a second. */
static struct str date_text(struct http_server *server)
{
    int64_t second = loop_wall_ms(server->loop) / 1000;
    if (server->date_second != second) {
        buf_clear(&server->date);
        clock_print_http_date(&server->date, second * 1000);
        server->date_second = second;
    }
    return buf_str(&server->date);
}

static bool id_good(struct str id)
{
    if (id.n == 0 || id.n > REQUEST_ID_BYTES)
        return false;
    for (size_t i = 0; i < id.n; i++) {
        if (id.p[i] <= 0x20 || id.p[i] >= 0x7f || id.p[i] == ',')
            return false;
    }
    return true;
}

static struct str new_id(struct conn *c)
{
    uint64_t bits = rng_next(loop_rng(c->request.loop));
    hex_print(c->request_id, &bits, sizeof bits);
    return (struct str){c->request_id, 2 * sizeof bits};
}

void response_choose_id(struct conn *c)
{
    struct str given = http_header(&c->request, "x-request-id");
    struct str trace = traceparent_trace_id(http_header(&c->request, "traceparent"));
    c->request.request_id = id_good(given) ? given : trace.p ? trace : new_id(c);
}

/* RFC 6797: clients that used TLS once use only TLS for a year. Not for subdomains, which may be
 * somebody else's. */
#define STRICT_TRANSPORT "Strict-Transport-Security: max-age=31536000\r\n"

/* Adds the head without Content-Length or Transfer-Encoding and without the empty line, which the
 * caller adds. */
static void add_head(struct conn *c, int status, const char *content_type, struct str id,
                     struct str extra)
{
    struct buf *to = &c->out;
    ASSERT(status >= 200 && status <= 599);
    c->status = status;
    atomic_fetch_add_explicit(&counted[status - 200], 1, memory_order_relaxed);
    ASSERT(extra.n == 0 || (extra.n > 2 && memcmp(extra.p + extra.n - 2, "\r\n", 2) == 0));
    buf_add_c(to, "HTTP/1.1 ");
    buf_add_int(to, status);
    buf_add_char(to, ' ');
    buf_add_c(to, http_status_title(status));
    buf_add_c(to, "\r\nDate: ");
    buf_add_str(to, date_text(c->server));
    if (content_type) {
        buf_add_c(to, "\r\nContent-Type: ");
        buf_add_c(to, content_type);
    }
    buf_add_c(to, "\r\nX-Request-Id: ");
    buf_add_str(to, id);
    buf_add_c(to, c->close_after && !c->is_stream ? "\r\nConnection: close\r\n" : "\r\n");
    if (c->tls || c->request.secure)
        buf_add_c(to, STRICT_TRANSPORT);
    buf_add_str(to, extra);
}

static void add_length_and_body(struct conn *c, int status, struct str body, bool head_only)
{
    struct buf *to = &c->out;
    c->answer_whole = true;
    if (status != 204 && status != 304) {
        buf_add_c(to, "Content-Length: ");
        buf_add_int(to, (int64_t)body.n);
        buf_add_c(to, "\r\n\r\n");
    } else {
        ASSERT(body.n == 0);
        buf_add_c(to, "\r\n");
    }
    if (!head_only) {
        buf_add_str(to, body);
        c->response_bytes += (int64_t)body.n;
    }
}

static void before_answer(struct conn *c)
{
    ASSERT(!c->answered);
    c->answered = true;
    if (!c->body_whole || c->server->stopping)
        c->close_after = true;
}

void http_respond(struct http_request *r, int status, const char *content_type,
                  struct str extra_headers, struct str body)
{
    struct conn *c = conn_of(r);
    if (!r->gone) {
        before_answer(c);
        add_head(c, status, content_type, r->request_id, extra_headers);
        add_length_and_body(c, status, body, r->method == HTTP_HEAD);
    }
    conn_request_done(c);
}

void http_begin_problem(struct json_writer *w, struct buf *to, int status, struct str detail)
{
    json_write_to(w, to);
    json_object(w);
    json_key_c(w, "type", "about:blank");
    json_key_c(w, "title", http_status_title(status));
    json_key_int(w, "status", status);
    json_key_string(w, "detail", detail);
}

void response_problem(struct conn *c, int status, const char *detail)
{
    /* Without a parsed request there is neither an id nor a method. */
    bool known = c->request.magic == HTTP_REQUEST_MAGIC;
    if (!known)
        c->request.request_id = new_id(c);
    struct buf body = {0};
    struct json_writer w;
    http_begin_problem(&w, &body, status, str_of(detail));
    json_end_object(&w);
    add_head(c, status, "application/problem+json", c->request.request_id,
             status == 503 ? STR(HTTP_RETRY_AFTER) : STR_NONE);
    add_length_and_body(c, status, buf_str(&body), known && c->request.method == HTTP_HEAD);
    buf_free(&body);
}

void http_respond_by(struct http_request *r, int64_t mono_ms, const char *detail)
{
    struct conn *c = conn_of(r);
    c->late_detail = detail;
    c->phase_deadline = mono_ms;
}

void response_late(struct conn *c)
{
    c->phase_deadline = INT64_MAX;
    if (c->answered)
        return;
    c->close_after = true;
    before_answer(c);
    response_problem(c, 503, c->late_detail);
    c->request.gone = true;
}

/* If the client has left before its answer; nginx uses this number, too. */
#define STATUS_CLIENT_LEFT 499

void response_log(struct conn *c)
{
    struct access_log *log = c->server ? c->server->options.access_log : NULL;
    const struct http_request *r = &c->request;
    struct access_entry e = {
        .status = c->status ? c->status : STATUS_CLIENT_LEFT,
        .response_bytes = c->response_bytes,
        .request_id = r->request_id,
        .client = c->peer.address,
    };
    c->status = 0;
    c->response_bytes = 0;
    if (!log)
        return;
    e.wall_ms = loop_wall_ms(r->loop);
    if (r->magic == HTTP_REQUEST_MAGIC) {
        e.client = r->peer;
        e.method = r->method_text;
        e.path = r->path;
        e.caller = r->caller;
        e.is_probe = r->is_probe;
        e.request_bytes = (int64_t)r->body.n;
        e.duration_ms = loop_mono_ms(r->loop) - c->began_mono_ms;
    }
    access_log_write(log, &e);
}

/* ---- in pieces */

void http_respond_begin(struct http_request *r, int status, const char *content_type,
                        struct str extra_headers)
{
    struct conn *c = conn_of(r);
    if (r->gone)
        return;
    before_answer(c);
    c->chunked_out = !c->head.http10 && !c->is_stream;
    add_head(c, status, content_type, r->request_id, extra_headers);
    buf_add_c(&c->out, c->chunked_out ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
}

void http_respond_piece(struct http_request *r, struct str piece,
                        void (*drained)(struct http_request *r))
{
    struct conn *c = conn_of(r);
    ASSERT(!r->gone && c->answered && !c->drained);
    c->drained = drained;
    if (r->method != HTTP_HEAD && piece.n > 0) { /* an empty chunk would end the body */
        if (c->chunked_out)
            buf_printf(&c->out, "%zx\r\n", piece.n);
        buf_add_str(&c->out, piece);
        c->response_bytes += (int64_t)piece.n;
        if (c->chunked_out)
            buf_add_c(&c->out, "\r\n");
    }
    if (conn_flush(c))
        conn_settle(c);
}

void http_respond_end(struct http_request *r)
{
    struct conn *c = conn_of(r);
    if (!r->gone && c->chunked_out && r->method != HTTP_HEAD)
        buf_add_c(&c->out, "0\r\n\r\n");
    c->answer_whole = true;
    conn_request_done(c);
}

void http_respond_abort(struct http_request *r)
{
    struct conn *c = conn_of(r);
    ASSERT(r->gone || c->answered);
    conn_drop(c);
    conn_request_done(c);
}

/* ---- reading a request */

struct str http_header(const struct http_request *r, const char *lower_name)
{
    return http_headers_find(r->headers, r->header_count, lower_name);
}

size_t http_header_count(const struct http_request *r, const char *lower_name)
{
    return http_headers_count(r->headers, r->header_count, lower_name);
}

struct str http_header_list(struct http_request *r, const char *lower_name)
{
    if (http_header_count(r, lower_name) < 2)
        return http_header(r, lower_name);
    struct buf joined = {0};
    for (size_t i = 0; i < r->header_count; i++) {
        if (!str_is(r->headers[i].name, lower_name))
            continue;
        buf_add_name(&joined, r->headers[i].value);
    }
    return arena_take(&r->arena, &joined);
}
