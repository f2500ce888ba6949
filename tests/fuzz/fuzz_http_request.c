/* Requests: any bytes into a connection without a socket, through the whole path from framing to
 * handler and response.
 *
 * What must hold besides not crashing: however the bytes are cut into reads, the handler sees the
 * same requests. The first byte chooses how the second connection is cut. A path that begins with
 * "/l" is answered late, after the bytes that came with it. */
#include "fuzz.h"

#include "base/check.h"
#include "http/conn.h"

#define BYTES_MAX 12000 /* below what waits behind an unanswered request */

struct seen {
    struct buf requests;
    struct http_request *late;
};

static void note(struct seen *seen, const struct http_request *r)
{
    struct buf *to = &seen->requests;
    buf_printf(to, "%d %d %d|%zu:%.*s|%zu:%.*s|%d %zu:%.*s|", r->method, r->secure, r->gone,
               r->method_text.n, STR_ARG(r->method_text), r->path.n, STR_ARG(r->path),
               r->query.p != NULL, r->query.n, STR_ARG(r->query));
    for (size_t i = 0; i < r->header_count; i++)
        buf_printf(to, "%zu:%.*s=%zu:%.*s,", r->headers[i].name.n, STR_ARG(r->headers[i].name),
                   r->headers[i].value.n, STR_ARG(r->headers[i].value));
    buf_printf(to, "|%zu:", r->body.n);
    buf_add_str(to, r->body);
    address_print(to, &r->peer);
    buf_add_char(to, '\n');
}

static void answer(struct http_request *r)
{
    if (r->method == HTTP_DELETE) {
        http_respond_begin(r, 200, "text/csv", STR_NONE);
        http_respond_piece(r, r->path, NULL);
        http_respond_end(r);
    } else {
        http_respond(r, 200, "text/plain", STR_NONE, r->path);
    }
}

static void handle(void *context, struct http_request *r)
{
    struct seen *seen = context;
    note(seen, r);
    if (str_has_prefix(r->path, "/l")) {
        ASSERT(!seen->late);
        seen->late = r;
    } else {
        answer(r);
    }
}

static int headers_in(void *context, struct http_request *r)
{
    struct seen *seen = context;
    if (!str_has_prefix(r->path, "/h"))
        return 0;
    buf_printf(&seen->requests, "head %.*s\n", STR_ARG(r->path));
    answer(r);
    return 1;
}

static void answer_late(struct seen *seen)
{
    while (seen->late) {
        struct http_request *r = seen->late;
        seen->late = NULL;
        answer(r);
    }
}

static void feed(struct seen *seen, const char *p, size_t n, size_t cut)
{
    struct cidr trusted[] = {{{AF_INET, {127, 0, 0, 0}}, 8}};
    struct endpoint peer = {{AF_INET, {127, 0, 0, 1}}, 1};
    struct loop *loop = loop_new(env_real());
    struct http_server_options options = {.handle = handle,
                                          .headers_in = headers_in,
                                          .context = seen,
                                          .listen_fd = -1,
                                          .trusted_proxies = trusted,
                                          .trusted_proxy_count = 1,
                                          .body_max_bytes = 4000};
    struct http_server *server = http_server_new(loop, &options);
    struct conn *c = conn_new(server, -1, NULL, &peer);
    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < cut ? n - at : cut;
        bool open = conn_feed(c, p + at, some);
        answer_late(seen);
        if (!open)
            break;
    }
    http_server_free(server);
    loop_free(loop);
}

/* A body may hold U+0000: the text is searched by its length. */
static const char *early_answer(const struct buf *requests)
{
    return requests->n ? memmem(requests->p, requests->n, "head ", 5) : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    if (data_bytes == 0 || data_bytes > BYTES_MAX)
        return 0;
    const char *p = (const char *)data + 1;
    struct seen whole = {0}, cut = {0};
    feed(&whole, p, data_bytes - 1, BYTES_MAX);
    feed(&cut, p, data_bytes - 1, 1 + data[0] % 64);
    /* An early answer keeps the connection only when the body is here already: from there on the
     * cuts may differ by right. */
    const char *head = early_answer(&whole.requests);
    size_t same = head ? (size_t)(head - whole.requests.p) : whole.requests.n;
    ASSERT(head || early_answer(&cut.requests) || whole.requests.n == cut.requests.n);
    ASSERT(same <= cut.requests.n &&
           memcmp(buf_c(&whole.requests), buf_c(&cut.requests), same) == 0);
    buf_free(&whole.requests);
    buf_free(&cut.requests);
    return 0;
}
