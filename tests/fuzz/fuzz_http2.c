/* HTTP/2 from clients: any bytes behind a preface, into a connection without a socket, through the
 * whole path from frames to handler and answer.
 *
 * What must hold besides not crashing: whatever is given to the handler is a request that HTTP/1.1
 * could have brought, and every request is answered once. The first byte chooses how the bytes are
 * cut into reads. A path that begins with "/l" is answered late. */
#include "fuzz.h"

#include "base/check.h"
#include "http/http2.h"

#define BYTES_MAX 12000
#define LATE_MAX LIMIT_HTTP2_STREAMS

static struct http_request *late[LATE_MAX];
static size_t late_count;

static void answer(struct http_request *r)
{
    if (r->method == HTTP_DELETE && !r->gone) {
        http_respond_begin(r, 200, "text/csv", STR_NONE);
        http_respond_piece(r, r->path, NULL);
        http_respond_end(r);
    } else {
        http_respond(r, 200, "text/plain", STR_NONE, r->path);
    }
}

static void check(const struct http_request *r)
{
    CHECK_MAGIC(r, HTTP_REQUEST_MAGIC);
    ASSERT(r->path.n > 0 && (r->path.p[0] == '/' || r->method == HTTP_OPTIONS));
    ASSERT(http_header_count(r, "host") == 1 && http_header_count(r, "connection") == 0);
    ASSERT(http_header_count(r, "cookie") <= 1 && !http_header(r, "transfer-encoding").p);
    for (size_t i = 0; i < r->header_count; i++) {
        struct str name = r->headers[i].name, value = r->headers[i].value;
        ASSERT(name.n > 0 && name.p[0] != ':' && !memchr(name.p, '\n', name.n));
        ASSERT(value.n == 0 ||
               (!memchr(value.p, '\n', value.n) && !memchr(value.p, '\r', value.n)));
    }
}

static void handle(void *context, struct http_request *r)
{
    ASSERT(!context);
    check(r);
    if (str_has_prefix(r->path, "/l") && late_count < LATE_MAX)
        late[late_count++] = r;
    else
        answer(r);
}

static int headers_in(void *context, struct http_request *r)
{
    ASSERT(!context);
    check(r);
    if (!str_has_prefix(r->path, "/h"))
        return 0;
    answer(r);
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
    if (data_bytes == 0 || data_bytes > BYTES_MAX)
        return 0;
    struct endpoint peer = {{AF_INET, {127, 0, 0, 1}}, 1};
    struct loop *loop = loop_new(env_real());
    struct http_server_options options = {
        .handle = handle, .headers_in = headers_in, .listen_fd = -1, .body_max_bytes = 4000};
    struct http_server *server = http_server_new(loop, &options);
    struct conn *c = conn_new(server, -1, NULL, &peer);
    const char *p = (const char *)data + 1;
    size_t n = data_bytes - 1, cut = data[0] % 8 ? (size_t)data[0] * 8 : 1;
    http2_start(c);
    bool open = conn_feed(c, preface, sizeof preface);
    for (size_t at = 0, some; open && at < n; at += some) {
        some = n - at < cut ? n - at : cut;
        open = conn_feed(c, p + at, some);
        while (late_count > 0 && at > n / 2)
            answer(late[--late_count]);
    }
    if (data[0] & 1)
        http_server_free(server);
    while (late_count > 0)
        answer(late[--late_count]);
    if (!(data[0] & 1))
        http_server_free(server);
    loop_free(loop);
    return 0;
}
