/* Exchanges through an HTTP proxy, which is told addresses that were checked here. */
#include "check.h"

#include "name_server.h"
#include "post.h"

#include <poll.h>

#define OK_EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static bool copy_some(int from, int to)
{
    char some[4096];
    ssize_t n = recv(from, some, sizeof some, 0);
    return n > 0 && send(to, some, (size_t)n, MSG_NOSIGNAL) == n;
}

static void pump(int a, int b)
{
    struct pollfd both[] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};
    while (poll(both, 2, -1) > 0) {
        if ((both[0].revents && !copy_some(a, b)) || (both[1].revents && !copy_some(b, a)))
            return;
    }
}

/* The head of a CONNECT, into r->request. */
static bool read_connect(struct receiver *r, int fd)
{
    size_t n = 0;
    while (n < sizeof r->request - 1 && recv(fd, r->request + n, 1, 0) == 1) {
        r->request[++n] = '\0';
        if (n >= 4 && memcmp(r->request + n - 4, "\r\n\r\n", 4) == 0)
            return true;
    }
    return false;
}

static void proxies(struct receiver *r, int fd, int number)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    char address[64] = "";
    unsigned port = 0;
    (void)number;
    if (!read_connect(r, fd) ||
        sscanf(r->request, "CONNECT %63[0-9.]:%u HTTP/1.1\r\n", address, &port) != 2)
        return;
    to.sin_port = htons((uint16_t)port);
    inet_pton(AF_INET, address, &to.sin_addr);
    int out = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(out, (struct sockaddr *)&to, sizeof to) == 0) {
        receiver_say(fd, "HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n");
        pump(fd, out);
    } else {
        receiver_say(fd, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\nsick");
    }
    close(out);
}

static void says(struct receiver *r, int fd, int number)
{
    (void)number;
    if (read_connect(r, fd))
        receiver_say(fd, r->text);
    if (!r->context)
        receiver_wait_for_end(fd);
}

static void open_through(const struct receiver *proxy, const char *userinfo, const char *allowed,
                         const char *dns_server)
{
    char url[96];
    struct sender_options options = post_options(allowed);
    snprintf(url, sizeof url, "http://%s127.0.0.1:%u", userinfo, proxy->port);
    options.proxy = url;
    options.dns_server = dns_server;
    post_open_with(&options);
}

static void receiver_is_reached(void)
{
    struct receiver proxy = {.serve = proxies}, r = {.text = OK_EMPTY};
    char want[128];
    receiver_start(&proxy);
    receiver_start(&r);
    open_through(&proxy, "us%20er:pass@", "127.0.0.0/8", NULL);
    for (int i = 0; i < 2; i++) {
        post_to("http://localhost:%u/cb", r.port, 5000);
        CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
        CHECK_EQ_INT(post.x.reused_connection, i > 0);
    }
    CHECK_EQ_INT(r.requests, 2);
    post_close();
    receiver_stop(&proxy);
    receiver_stop(&r);
    snprintf(want, sizeof want,
             "CONNECT 127.0.0.1:%u HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
             "Proxy-Authorization: Basic dXMgZXI6cGFzcw==\r\n\r\n",
             r.port, r.port);
    CHECK_CSTR(proxy.request, want);
    /* What the proxy wants is not for the receiver. */
    CHECK(strstr(r.request, "Authorization") == NULL);
    CHECK(strstr(r.request, "Host: localhost:") != NULL);
}

static void addresses_are_checked_all_the_same(void)
{
    static const struct name_record records[] = {
        {.name = "private.test", .addresses = {"10.1.2.3"}, .ttl_s = 60}, {0}};
    struct name_server server = {0};
    struct receiver proxy = {.serve = proxies};
    name_server_start(&server, records);
    receiver_start(&proxy);
    open_through(&proxy, "", NULL, server.where);
    post_to("http://127.0.0.1:9/", 0, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_DESTINATION_REFUSED);
    post_to("http://private.test/", 0, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_DESTINATION_REFUSED);
    CHECK_EQ_INT(proxy.accepted, 0);
    post_close();
    receiver_stop(&proxy);
    name_server_stop(&server);
}

#define PATIENCE_MS 20000 /* for an answer that does come */

/* One post through a proxy that answers CONNECT so; closing: and closes. */
static void refused_with(const char *text, bool closing, int64_t limit_ms)
{
    struct receiver proxy = {.serve = says, .text = text};
    proxy.context = closing ? &proxy : NULL;
    receiver_start(&proxy);
    open_through(&proxy, "", "127.0.0.0/8", NULL);
    exchange_free_results(&post.x);
    post.x = (struct exchange){0};
    post_to("http://127.0.0.1:9/", 0, limit_ms);
    struct exchange kept = post.x;
    post.x = (struct exchange){0};
    post_close();
    post.x = kept;
    receiver_stop(&proxy);
}

static void proxies_that_fail(void)
{
    refused_with("HTTP/1.1 407 Who are you\r\nContent-Length: 3\r\n\r\nwho", false, PATIENCE_MS);
    CHECK_EQ_INT(post.x.class, ATTEMPT_REFUSED);
    CHECK(post_says("the proxy on the way answered 407"));
    CHECK_EQ_INT(post.x.local_fault, LOCAL_FAULT_PROXY);
    refused_with("", true, PATIENCE_MS);
    CHECK_EQ_INT(post.x.class, ATTEMPT_RESET);
    CHECK_EQ_INT(post.x.local_fault, LOCAL_FAULT_NONE); /* perhaps the receiver is down */
    refused_with("SSH-2.0-x\r\n\r\n\r\n", false, PATIENCE_MS);
    CHECK_EQ_INT(post.x.class, ATTEMPT_RESET);
    refused_with("HTTP/1.1 2000 OK\r\n\r\n", false, PATIENCE_MS);
    CHECK_EQ_INT(post.x.class, ATTEMPT_RESET);
    refused_with("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", false, PATIENCE_MS);
    CHECK_EQ_INT(post.x.class, ATTEMPT_RESET); /* an answer before the question */
    refused_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
                 "HTTP/1.1 403 No\r\n\r\n",
                 false, PATIENCE_MS);
    CHECK(post_says("the proxy on the way answered 403"));
    refused_with("HTTP/1.1 200", false, 1000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_CONNECT_TIMEOUT);
    CHECK(post_says("through a proxy"));
    exchange_free_results(&post.x);
    post.x = (struct exchange){0};

    struct receiver none = {.text = ""};
    receiver_start(&none);
    receiver_stop(&none);
    open_through(&none, "", "127.0.0.0/8", NULL);
    post_to("http://127.0.0.1:9/", 0, 5000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_REFUSED);
    CHECK(post_says("this service's own proxy"));
    CHECK_EQ_INT(post.x.local_fault, LOCAL_FAULT_PROXY);
    post_close();
}

static void bad_proxy_is_refused(void)
{
    struct sender_options options = post_options(NULL);
    struct loop *loop = loop_new(env_real());
    static const char *const bad[] = {"https://127.0.0.1:3128", "127.0.0.1:3128", ""};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char *why = NULL;
        options.proxy = bad[i];
        CHECK(sender_new(loop, &options, &why) == NULL);
        CHECK(why != NULL);
        free(why);
    }
    loop_free(loop);
}

int main(void)
{
    RUN(receiver_is_reached);
    RUN(addresses_are_checked_all_the_same);
    RUN(proxies_that_fail);
    RUN(bad_proxy_is_refused);
    return check_done("send_proxy");
}
