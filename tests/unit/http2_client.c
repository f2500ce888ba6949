/* Frames as bytes, and what of the answers tests ask for. */
#include "http2_client.h"

#include "certificate.h"
#include "net/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <poll.h>
#include <unistd.h>

/* ---- frames out */

void add_frame(struct client *c, int type, int flags, uint32_t stream, struct str payload)
{
    char head[FRAME_HEAD_BYTES] = {(char)(payload.n >> 16),
                                   (char)(payload.n >> 8),
                                   (char)payload.n,
                                   (char)type,
                                   (char)flags,
                                   (char)(stream >> 24),
                                   (char)(stream >> 16),
                                   (char)(stream >> 8),
                                   (char)stream};
    buf_add(&c->out, head, sizeof head);
    buf_add_str(&c->out, payload);
}

void add_number_frame(struct client *c, int type, uint32_t stream, uint32_t number)
{
    char n[4] = {(char)(number >> 24), (char)(number >> 16), (char)(number >> 8), (char)number};
    add_frame(c, type, 0, stream, (struct str){n, sizeof n});
}

/* A literal without indexing (RFC 7541, section 6.2.2). */
static void add_field_text(struct buf *b, const char *name, const char *value)
{
    ASSERT(strlen(name) < 127 && strlen(value) < 127);
    buf_add_char(b, 0);
    buf_add_char(b, (char)strlen(name));
    buf_add_c(b, name);
    buf_add_char(b, (char)strlen(value));
    buf_add_c(b, value);
}

void add_request(struct client *c, uint32_t stream, const char *method, const char *path,
                 const char *length, int flags)
{
    struct buf b = {0};
    add_field_text(&b, ":method", method);
    add_field_text(&b, ":scheme", "https");
    add_field_text(&b, ":authority", "localhost");
    add_field_text(&b, ":path", path);
    if (length[0])
        add_field_text(&b, "content-length", length);
    add_frame(c, NGHTTP2_HEADERS, flags, stream, buf_str(&b));
    buf_free(&b);
}

void add_get(struct client *c, uint32_t stream, const char *path)
{
    add_request(c, stream, "GET", path, "", WHOLE);
}

bool send_out(struct client *c)
{
    size_t n = 0;
    bool good = c->out.n == 0 || SSL_write_ex(c->tls, c->out.p, c->out.n, &n) == 1;
    ERR_clear_error();
    buf_clear(&c->out);
    return good;
}

/* ---- frames in */

static void take_fields(struct client *c, uint32_t stream, const char *p, size_t n)
{
    for (int flags = 0; !(flags & NGHTTP2_HD_INFLATE_FINAL);) {
        nghttp2_nv field;
        ssize_t used =
            nghttp2_hd_inflate_hd2(c->inflater, &field, &flags, (const uint8_t *)p, n, 1);
        ASSERT(used >= 0);
        p += used;
        n -= (size_t)used;
        if ((flags & NGHTTP2_HD_INFLATE_EMIT) && memcmp(field.name, ":status", 8) == 0)
            c->streams[stream].status = atoi((const char *)field.value);
    }
    nghttp2_hd_inflate_end_headers(c->inflater);
}

static bool read_more(struct client *c)
{
    size_t n = 0;
    errno = 0;
    if (SSL_read_ex(c->tls, buf_reserve(&c->in, 16384), 16384, &n) != 1) {
        CHECK(errno != EAGAIN); /* neither a word nor an end in 20 s */
        ERR_clear_error();
        c->ended = true;
        return false;
    }
    c->in.n += n;
    return true;
}

static uint32_t number_at(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static void pay_back(struct client *c, uint32_t stream, size_t n)
{
    if (n == 0)
        return;
    add_number_frame(c, NGHTTP2_WINDOW_UPDATE, 0, (uint32_t)n);
    add_number_frame(c, NGHTTP2_WINDOW_UPDATE, stream, (uint32_t)n);
    (void)send_out(c);
}

static void take_frame(struct client *c, const char *p, size_t n)
{
    uint32_t stream = number_at(p + 5);
    int type = p[3], flags = p[4];
    const char *payload = p + FRAME_HEAD_BYTES;
    ASSERT(stream < CLIENT_STREAMS);
    if (type == NGHTTP2_HEADERS)
        take_fields(c, stream, payload, n);
    c->data_frames += type == NGHTTP2_DATA;
    c->data_bytes += type == NGHTTP2_DATA ? (int64_t)n : 0;
    if (type == NGHTTP2_DATA)
        buf_add(&c->streams[stream].body, payload, n < 4096 ? n : 4096);
    if (type == NGHTTP2_DATA && c->window_opened)
        pay_back(c, stream, n);
    if ((type == NGHTTP2_HEADERS || type == NGHTTP2_DATA) && (flags & NGHTTP2_FLAG_END_STREAM))
        c->streams[stream].ended = true;
    if (type == NGHTTP2_RST_STREAM)
        c->streams[stream].reset = (int)number_at(payload);
    if (type == NGHTTP2_GOAWAY)
        c->goaway = (int)number_at(payload + 4);
}

/* A frame that is here; false: there is none. */
static bool frame_here(struct client *c)
{
    size_t n = c->in.n < FRAME_HEAD_BYTES ? 0 : number_at(c->in.p) >> 8;
    if (c->in.n < FRAME_HEAD_BYTES + n)
        return false;
    take_frame(c, c->in.p, n);
    buf_consume(&c->in, FRAME_HEAD_BYTES + n);
    return true;
}

bool next_frame(struct client *c)
{
    while (!frame_here(c)) {
        if (c->ended || !read_more(c))
            return false;
    }
    return true;
}

void take_what_comes(struct client *c, int ms)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    do {
        while (frame_here(c)) {
        }
    } while ((SSL_pending(c->tls) > 0 || poll(&p, 1, ms) == 1) && !c->ended && read_more(c));
}

int outcome(struct client *c, uint32_t stream)
{
    while (!c->streams[stream].ended && c->streams[stream].reset < 0 && next_frame(c)) {
    }
    return c->streams[stream].ended        ? c->streams[stream].status
           : c->streams[stream].reset >= 0 ? -c->streams[stream].reset
                                           : -1000;
}

int ask(struct client *c, uint32_t stream)
{
    add_get(c, stream, "/beside");
    (void)send_out(c);
    return outcome(c, stream);
}

int end_of(struct client *c)
{
    while (next_frame(c)) {
    }
    return c->goaway;
}

/* ---- begin and end */

static struct certificate certificate;
static struct ssl_ctx_st *client_tls;

bool host_start_http2(struct http_server_options options)
{
    char *why = NULL;
    if (!client_tls) {
        ASSERT(certificate_make(&certificate, "DNS:localhost", 86400));
        struct tls_authorities *authorities = tls_authorities_new(certificate.cert);
        client_tls = tls_client_new(authorities, true, &why);
        tls_authorities_free(authorities);
        ASSERT(client_tls);
    }
    options.tls_context = tls_server_new(certificate.cert, certificate.key, true, &why);
    bool good = options.tls_context && host_start(options);
    tls_context_free(options.tls_context);
    return good;
}

void host_forget_http2(void)
{
    tls_context_free(client_tls);
    certificate_remove(&certificate);
}

void connect_tls(struct client *c)
{
    *c = (struct client){.fd = dial(), .goaway = -1};
    for (size_t i = 0; i < CLIENT_STREAMS; i++)
        c->streams[i].reset = -1;
    ASSERT(nghttp2_hd_inflate_new(&c->inflater) == 0);
    c->tls = tls_client_stream(client_tls, "localhost", NULL, NULL, NULL);
    SSL_set_fd(c->tls, c->fd);
    ASSERT(SSL_connect(c->tls) == 1 && tls_chose_http2(c->tls));
}

void connect_http2(struct client *c, uint32_t window)
{
    char setting[6] = {0,
                       NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                       (char)(window >> 24),
                       (char)(window >> 16),
                       (char)(window >> 8),
                       (char)window};
    connect_tls(c);
    buf_add(&c->out, PREFACE, sizeof PREFACE - 1);
    add_frame(c, NGHTTP2_SETTINGS, 0, 0, (struct str){setting, sizeof setting});
    CHECK(send_out(c));
}

void disconnect(struct client *c)
{
    nghttp2_hd_inflate_del(c->inflater);
    SSL_free(c->tls);
    close(c->fd);
    buf_free(&c->in);
    buf_free(&c->out);
    for (size_t i = 0; i < CLIENT_STREAMS; i++)
        buf_free(&c->streams[i].body);
}
