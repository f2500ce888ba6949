/* Exchanges over TLS: certificates of every kind, handshakes that stall, sessions resumed. */
#include "check.h"

#include "certificate.h"
#include "net/tls.h"
#include "post.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#define OK_EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static struct certificate good, expired, elsewhere;
static atomic_int resumed;

/* One TLS connection: an answer per request, until the peer closes. r->context: certificate. */
static void serves_tls(struct receiver *r, int fd, int number)
{
    const struct certificate *certificate = r->context;
    static SSL_CTX *context;
    if (number == 0) {
        SSL_CTX_free(context);
        context = SSL_CTX_new(TLS_server_method());
        ASSERT(SSL_CTX_use_certificate_chain_file(context, certificate->cert) == 1);
        ASSERT(SSL_CTX_use_PrivateKey_file(context, certificate->key, SSL_FILETYPE_PEM) == 1);
        if (r->text)
            ASSERT(SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION) == 1);
    }
    SSL *tls = SSL_new(context);
    char some[4096];
    SSL_set_fd(tls, fd);
    if (SSL_accept(tls) == 1) {
        atomic_fetch_add(&resumed, SSL_session_reused(tls));
        while (SSL_read(tls, some, sizeof some) > 0) {
            atomic_fetch_add(&r->requests, 1);
            SSL_write(tls, OK_EMPTY, sizeof OK_EMPTY - 1);
        }
    }
    ERR_clear_error();
    SSL_free(tls);
}

static void post_tls(const struct certificate *certificate, const char *url)
{
    struct receiver r = {.serve = serves_tls, .context = (void *)(uintptr_t)certificate};
    receiver_start(&r);
    post_to(url, r.port, 5000);
    receiver_stop(&r);
}

static void trusted(void)
{
    post_tls(&good, "https://127.0.0.1:%u/");
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    CHECK_EQ_INT(post.x.status, 200);
    post_tls(&good, "https://localhost:%u/");
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
}

static void connection_and_session_are_reused(void)
{
    struct receiver r = {.serve = serves_tls, .context = &good};
    for (int old = 0; old < 2; old++) {
        r = (struct receiver){.serve = serves_tls, .context = &good, .text = old ? "1.2" : NULL};
        struct sender_numbers numbers;
        receiver_start(&r);
        atomic_store(&resumed, 0);
        for (int i = 0; i < 3; i++) {
            post_to("https://localhost:%u/", r.port, 5000);
            CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
            CHECK_EQ_INT(post.x.reused_connection, i > 0);
        }
        CHECK_EQ_INT(r.accepted, 1);
        /* The receiver drops it; the next connection resumes the session. */
        shutdown(r.fd, SHUT_RDWR);
        for (int wait = 0; wait < 500; wait++) {
            sender_get_numbers(post.sender, &numbers);
            if (numbers.connections == 0)
                break;
            post_pause(10);
        }
        CHECK_EQ_INT(numbers.connections, 0);
        post_to("https://localhost:%u/", r.port, 5000);
        CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
        CHECK_EQ_INT(resumed, 1);
        receiver_stop(&r);
    }
}

static void untrusted(void)
{
    post_close();
    post_open("127.0.0.0/8", expired.cert, NULL);
    post_tls(&expired, "https://localhost:%u/");
    CHECK_EQ_INT(post.x.class, ATTEMPT_TLS);
    CHECK(post_says("the certificate has expired on 20"));
    post_close();
    post_open("127.0.0.0/8", elsewhere.cert, NULL);
    post_tls(&elsewhere, "https://localhost:%u/");
    CHECK_EQ_INT(post.x.class, ATTEMPT_TLS);
    CHECK(post_says("not for localhost but for receiver.example, 192.0.2.1"));
    post_tls(&elsewhere, "https://127.0.0.1:%u/");
    CHECK_EQ_INT(post.x.class, ATTEMPT_TLS);
    CHECK(post_says("not for 127.0.0.1 but for receiver.example, 192.0.2.1"));
    post_close();
    post_open("127.0.0.0/8", good.cert, NULL);
    post_tls(&elsewhere, "https://localhost:%u/");
    CHECK_EQ_INT(post.x.class, ATTEMPT_TLS);
    CHECK(post_says("self-signed"));
}

static void stalls(struct receiver *r, int fd, int number)
{
    (void)r, (void)number;
    receiver_wait_for_end(fd);
}

static void hangs_up(struct receiver *r, int fd, int number)
{
    char some[64];
    (void)r, (void)number;
    (void)!recv(fd, some, sizeof some, 0);
}

static void handshakes_that_fail(void)
{
    struct receiver r = {.serve = stalls};
    receiver_start(&r);
    post_to("https://127.0.0.1:%u/", r.port, 300);
    CHECK_EQ_INT(post.x.class, ATTEMPT_CONNECT_TIMEOUT);
    CHECK(post_says("TLS handshake was not complete within 0.3 s"));
    receiver_stop(&r);
    r = (struct receiver){.serve = hangs_up};
    receiver_start(&r);
    post_to("https://127.0.0.1:%u/", r.port, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_TLS);
    CHECK(post_says("during the TLS handshake"));
    receiver_stop(&r);
}

static void says_plain_http(struct receiver *r, int fd, int number)
{
    (void)r, (void)number;
    receiver_say(fd, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    receiver_wait_for_end(fd);
}

static void plain_http_behind_https(void)
{
    struct receiver r = {.serve = says_plain_http};
    receiver_start(&r);
    post_to("https://127.0.0.1:%u/", r.port, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_TLS);
    CHECK(post_says("should the URL begin with http://?"));
    receiver_stop(&r);
}

int main(void)
{
    if (!certificate_make(&good, "DNS:localhost,IP:127.0.0.1", 86400) ||
        !certificate_make(&expired, "DNS:localhost,IP:127.0.0.1", 60) ||
        !certificate_make(&elsewhere, "DNS:receiver.example,IP:192.0.2.1", 86400))
        return 1;
    post_open("127.0.0.0/8", good.cert, NULL);
    RUN(trusted);
    RUN(connection_and_session_are_reused);
    RUN(untrusted);
    RUN(handshakes_that_fail);
    RUN(plain_http_behind_https);
    post_close();
    certificate_remove(&good);
    certificate_remove(&expired);
    certificate_remove(&elsewhere);
    return check_done("send_tls");
}
