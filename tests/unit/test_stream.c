/* Streams in pairs over socketpairs, plain and TLS: an echo of more than the socket holds, the
 * ends of connections, verification and its reasons, resumption. */
#include "check.h"

#include "base/check.h"
#include "certificate.h"
#include "net/stream.h"
#include "net/tls.h"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <stddef.h>
#include <sys/socket.h>

enum { ECHO_BYTES = 3 << 20, PIECE = 70000 };

struct end {
    struct stream s;
    struct buf out; /* to be written */
    struct buf in;
    size_t expected;
    bool echoes, small_reads, shaken, over;
    int reports;               /* calls of end_ready */
    enum stream_result result; /* how it ended */
    struct end *peer;
};

static struct loop *loop;
static struct certificate good_certificate, old_certificate;

static void finish(struct end *e, enum stream_result result)
{
    e->result = result;
    e->over = true;
    stream_close(&e->s);
    if (e->peer->over)
        loop_stop(loop);
}

static bool pump_out(struct end *e)
{
    while (e->out.n > 0) {
        size_t put = 0;
        enum stream_result r = stream_write(&e->s, e->out.p, e->out.n, &put);
        if (r == STREAM_AGAIN)
            break;
        if (r != STREAM_OK) {
            finish(e, r);
            return false;
        }
        buf_consume(&e->out, put);
    }
    stream_want(&e->s, IO_READ | (e->out.n ? IO_WRITE : 0));
    return true;
}

static void end_ready(struct stream *s, int events)
{
    struct end *e = CONTAINER_OF(s, struct end, s);
    e->reports++;
    if (!e->shaken) {
        enum stream_result r = stream_handshake(s);
        if (r == STREAM_AGAIN)
            return;
        if (r != STREAM_OK) {
            finish(e, r);
            return;
        }
        e->shaken = true;
    }
    if (events & IO_READ) {
        /* One read per report, however little: the rest must be reported again. */
        size_t n = e->small_reads ? 1000 : PIECE, got = 0;
        enum stream_result r = stream_read(s, buf_reserve(&e->in, n), n, &got);
        if (r == STREAM_OK) {
            if (e->echoes)
                buf_add(&e->out, e->in.p + e->in.n, got);
            e->in.n += got;
            if (!e->echoes && e->in.n >= e->expected) {
                finish(e, STREAM_OK);
                return;
            }
        } else if (r != STREAM_AGAIN) {
            finish(e, r);
            return;
        }
    }
    pump_out(e);
}

static void pair_open(struct end *a, struct end *b, struct ssl_st *a_tls, struct ssl_st *b_tls)
{
    int fds[2];
    ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    a->peer = b;
    b->peer = a;
    a->s.ready = b->s.ready = end_ready;
    stream_open(&a->s, loop, fds[0], a_tls);
    stream_open(&b->s, loop, fds[1], b_tls);
    end_ready(&a->s, 0);
    end_ready(&b->s, 0);
}

static void pair_free(struct end *a, struct end *b)
{
    stream_close(&a->s);
    stream_close(&b->s);
    buf_free(&a->in);
    buf_free(&a->out);
    buf_free(&b->in);
    buf_free(&b->out);
}

static void echo_through(struct ssl_st *a_tls, struct ssl_st *b_tls, bool small_reads)
{
    struct end a = {.expected = ECHO_BYTES}, b = {.echoes = true, .small_reads = small_reads};
    for (int i = 0; i < ECHO_BYTES; i++)
        buf_add_char(&a.out, (char)(i * 7 + i / 251));
    struct buf sent = {0};
    buf_add(&sent, a.out.p, a.out.n);
    pair_open(&a, &b, a_tls, b_tls);
    loop_run(loop);
    CHECK_EQ_INT(a.result, STREAM_OK);
    CHECK_EQ_INT(b.result, STREAM_CLOSED);
    CHECK(a.in.n == sent.n && memcmp(a.in.p, sent.p, sent.n) == 0);
    buf_free(&sent);
    pair_free(&a, &b);
}

static void plain_echo(void)
{
    echo_through(NULL, NULL, false);
}

static struct ssl_session_st *session;

static void on_session(void *owner, struct ssl_session_st *s)
{
    CHECK(owner == &session);
    tls_session_free(session);
    session = s;
}

struct contexts {
    struct ssl_ctx_st *server, *client;
};

static bool contexts_make(struct contexts *c, const struct certificate *of, const char *ca_file)
{
    char *why = NULL;
    c->server = tls_server_new(of->cert, of->key, true, &why);
    c->client = client_trusting(ca_file, &why);
    if (why)
        printf("%s\n", why);
    free(why);
    return c->server && c->client;
}

static void contexts_free(struct contexts *c)
{
    tls_context_free(c->server);
    tls_context_free(c->client);
}

static void tls_echo_and_resumption(void)
{
    struct contexts c;
    REQUIRE(contexts_make(&c, &good_certificate, good_certificate.cert));
    tls_client_set_session_hook(c.client, on_session);
    struct ssl_st *first = tls_client_stream(c.client, "localhost", NULL, NULL, &session);
    CHECK(!tls_resumed(first));
    echo_through(first, tls_server_stream(c.server), true);
    REQUIRE(session != NULL);

    struct ssl_session_st *old = session;
    session = NULL;
    struct end a = {.expected = 5}, b = {.echoes = true};
    buf_add_c(&a.out, "again");
    struct ssl_st *second = tls_client_stream(c.client, "localhost", NULL, old, &session);
    SSL_up_ref(second);
    pair_open(&a, &b, second, tls_server_stream(c.server));
    loop_run(loop);
    CHECK(tls_resumed(second));
    CHECK_STR(a.in, "again");
    SSL_free(second);
    pair_free(&a, &b);
    tls_session_free(old);
    tls_session_free(session);
    session = NULL;
    contexts_free(&c);
}

/* What the client says of a server with that certificate. */
static enum stream_result verdict(const struct certificate *of, const char *ca_file,
                                  const char *host, const struct address *address, char *ret_reason)
{
    struct contexts c;
    ASSERT(contexts_make(&c, of, ca_file));
    struct end a = {.expected = 2}, b = {.echoes = true};
    buf_add_c(&a.out, "ok");
    pair_open(&a, &b, tls_client_stream(c.client, host, address, NULL, NULL),
              tls_server_stream(c.server));
    loop_run(loop);
    snprintf(ret_reason, 100, "%s", stream_tls_reason(&a.s));
    enum stream_result r = a.result;
    pair_free(&a, &b);
    contexts_free(&c);
    return r;
}

static void certificates_are_verified(void)
{
    char reason[100];
    const char *ca = good_certificate.cert;
    struct address here = {AF_INET, {127, 0, 0, 1}}, elsewhere = {AF_INET, {127, 0, 0, 2}};
    CHECK_EQ_INT(verdict(&good_certificate, ca, "localhost", NULL, reason), STREAM_OK);
    CHECK_EQ_INT(verdict(&good_certificate, ca, "127.0.0.1", &here, reason), STREAM_OK);
    CHECK_EQ_INT(verdict(&good_certificate, ca, "127.0.0.2", &elsewhere, reason), STREAM_TLS_ERROR);
    CHECK_CSTR(reason, "IP address mismatch");
    CHECK_EQ_INT(verdict(&good_certificate, ca, "example.com", NULL, reason), STREAM_TLS_ERROR);
    CHECK_CSTR(reason, "hostname mismatch");
    CHECK_EQ_INT(verdict(&old_certificate, old_certificate.cert, "localhost", NULL, reason),
                 STREAM_TLS_ERROR);
    CHECK_CSTR(reason, "certificate has expired");
    CHECK_EQ_INT(verdict(&good_certificate, NULL, "localhost", NULL, reason), STREAM_TLS_ERROR);
    CHECK(strstr(reason, "self-signed certificate") != NULL);
}

static void garbage_is_a_tls_error(void)
{
    struct contexts c;
    REQUIRE(contexts_make(&c, &good_certificate, good_certificate.cert));
    struct end a = {0}, b = {.expected = SIZE_MAX};
    buf_add_c(&b.out, "HTTP/1.1 400 Bad Request\r\n\r\n");
    pair_open(&a, &b, tls_client_stream(c.client, "localhost", NULL, NULL, NULL), NULL);
    loop_run(loop);
    CHECK_EQ_INT(a.result, STREAM_TLS_ERROR);
    CHECK_CSTR(stream_tls_reason(&a.s), "wrong version number");
    pair_free(&a, &b);
    contexts_free(&c);
}

static void end_during_handshake_is_closed(void)
{
    struct contexts c;
    REQUIRE(contexts_make(&c, &good_certificate, good_certificate.cert));
    struct end a = {0}, b = {.expected = 1}; /* closes at the first byte it gets */
    pair_open(&a, &b, tls_client_stream(c.client, "localhost", NULL, NULL, NULL), NULL);
    loop_run(loop);
    CHECK(a.result == STREAM_CLOSED || a.result == STREAM_RESET);
    pair_free(&a, &b);
    contexts_free(&c);
}

static void stop_loop(struct timer *timer)
{
    (void)timer;
    loop_stop(loop);
}

static void run_loop_ms(int64_t ms)
{
    struct timer timer = {.fire = stop_loop};
    loop_timer_set(loop, &timer, loop_mono_ms(loop) + ms);
    loop_run(loop);
}

/* The first bytes of a record whose rest does not come: TLS holds them, and nobody can read them.
 */
static void part_of_a_record_is_reported_once(void)
{
    static const char part[] = "\x17\x03\x03\x40\x00 ten bytes";
    struct contexts c;
    REQUIRE(contexts_make(&c, &good_certificate, good_certificate.cert));
    struct end a = {.expected = SIZE_MAX}, b = {.expected = SIZE_MAX};
    pair_open(&a, &b, tls_client_stream(c.client, "localhost", NULL, NULL, NULL),
              tls_server_stream(c.server));
    while (!a.shaken || !b.shaken)
        run_loop_ms(1);
    int before = b.reports;
    REQUIRE(send(a.s.io.fd, part, 15, 0) == 15);
    while (b.reports == before)
        run_loop_ms(1);
    run_loop_ms(50);
    CHECK_EQ_INT(b.reports, before + 1);
    REQUIRE(send(a.s.io.fd, part, 15, 0) == 15); /* more bytes of it are looked at */
    while (b.reports == before + 1)
        run_loop_ms(1);
    run_loop_ms(50);
    CHECK_EQ_INT(b.reports, before + 2);
    CHECK(!b.over);
    pair_free(&a, &b);
    contexts_free(&c);
}

static void bad_files_are_named(void)
{
    char *why = NULL;
    CHECK(tls_server_new("/nonexistent/cert.pem", good_certificate.key, true, &why) == NULL);
    CHECK_CSTR(why, "tls-cert: /nonexistent/cert.pem: No such file or directory");
    free(why);
    why = NULL;
    CHECK(tls_server_new(good_certificate.cert, old_certificate.key, true, &why) == NULL);
    REQUIRE(why != NULL);
    CHECK(strstr(why, "key values mismatch") != NULL);
    free(why);
    why = NULL;
    CHECK(tls_server_new("/", good_certificate.key, true, &why) == NULL);
    CHECK_CSTR(why, "tls-cert: /: it is a directory; it must be a regular file");
    free(why);
    why = NULL;
    CHECK(tls_server_new(good_certificate.key, good_certificate.key, true, &why) == NULL);
    REQUIRE(why != NULL);
    CHECK(strstr(why, "none in PEM") != NULL);
    free(why);
    why = NULL;
    CHECK(client_trusting("/nonexistent/ca.pem", &why) == NULL);
    CHECK(why && strstr(why, "/nonexistent/ca.pem: ") != NULL);
    free(why);
}

int main(void)
{
    loop = loop_new(env_real());
    if (!certificate_make(&good_certificate, "DNS:localhost,IP:127.0.0.1", 86400) ||
        !certificate_make(&old_certificate, "DNS:localhost", 60))
        return 1;
    RUN(plain_echo);
    RUN(tls_echo_and_resumption);
    RUN(certificates_are_verified);
    RUN(garbage_is_a_tls_error);
    RUN(end_during_handshake_is_closed);
    RUN(part_of_a_record_is_reported_once);
    RUN(bad_files_are_named);
    certificate_remove(&good_certificate);
    certificate_remove(&old_certificate);
    loop_free(loop);
    return check_done("stream");
}
