/* Sockets: endpoints as text, listening and connecting over loopback, causes in words. */
#include "check.h"

#include "net/socket.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

static void endpoints_are_read_and_printed(void)
{
    static const char *const good[] = {"127.0.0.1:8080", "0.0.0.0:0", "[::1]:65535", "[::]:1"};
    struct buf text = {0};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct endpoint e;
        REQUIRE(endpoint_parse(str_of(good[i]), &e));
        buf_clear(&text);
        endpoint_print(&text, &e);
        CHECK_STR(text, good[i]);
    }
    buf_free(&text);
    static const char *const bad[] = {
        "",       "127.0.0.1",      ":80",         "127.0.0.1:", "1.2.3.4:x", "1.2.3.4:65536",
        "::1:80", "[127.0.0.1]:80", "localhost:1", "[::1]80",    "[::1]:+80", "127.1:80"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct endpoint e;
        if (!CHECK(!endpoint_parse(str_of(bad[i]), &e)))
            printf("  %s\n", bad[i]);
    }
}

static void wait_for(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    CHECK_EQ_INT(poll(&p, 1, 20000), 1);
}

/* Connects to what listens at `at`, from `from`; the peer that the listener sees. */
static void connect_to(const struct endpoint *at, const struct address *from)
{
    int error = 0;
    struct endpoint here, peer, client;
    int listener = socket_listen(at, &error);
    REQUIRE(listener >= 0);
    REQUIRE(socket_local(listener, &here));
    CHECK(here.port != 0);
    CHECK_EQ_INT(socket_accept(listener, &peer, &error), -1);
    CHECK_EQ_INT(error, EAGAIN);
    CHECK(!socket_accept_exhausted(error));
    int fd = socket_connect(&here, from, &error);
    REQUIRE(fd >= 0);
    wait_for(fd, POLLOUT);
    CHECK_EQ_INT(socket_connect_error(fd), 0);
    wait_for(listener, POLLIN);
    int accepted = socket_accept(listener, &peer, &error);
    REQUIRE(accepted >= 0);
    REQUIRE(socket_local(fd, &client));
    CHECK_EQ_INT(peer.port, client.port);
    CHECK(memcmp(peer.address.bytes, from ? from->bytes : at->address.bytes, 16) == 0);
    close(accepted);
    close(fd);
    /* In use while it listens; refused when nothing does. */
    CHECK_EQ_INT(socket_listen(&here, &error), -1);
    CHECK_CSTR(socket_error_text(error), "the address is in use by another program");
    close(listener);
    fd = socket_connect(&here, NULL, &error);
    if (fd >= 0) {
        wait_for(fd, POLLOUT);
        error = socket_connect_error(fd);
        close(fd);
    }
    CHECK_CSTR(socket_error_text(error), "connection refused: nothing listens on that port");
}

static void v4_connects(void)
{
    struct address from = {AF_INET, {127, 0, 0, 9}};
    connect_to(&(struct endpoint){{AF_INET, {127, 0, 0, 1}}, 0}, NULL);
    connect_to(&(struct endpoint){{AF_INET, {127, 0, 0, 1}}, 0}, &from);
}

static void v6_connects(void)
{
    struct endpoint at = {{AF_INET6, {[15] = 1}}, 0};
    int error = 0, fd = socket_listen(&at, &error);
    if (fd < 0) { /* a system without IPv6 says so, and that is all there is to see */
        CHECK(error == EAFNOSUPPORT || error == EADDRNOTAVAIL);
        return;
    }
    close(fd);
    connect_to(&at, NULL);
}

static void foreign_source_is_told(void)
{
    struct address foreign = {AF_INET, {192, 0, 2, 1}};
    int error = 0;
    CHECK_EQ_INT(socket_connect(&(struct endpoint){{AF_INET, {127, 0, 0, 1}}, 9}, &foreign, &error),
                 -1);
    CHECK_EQ_INT(error, EADDRNOTAVAIL);
}

int main(void)
{
    RUN(endpoints_are_read_and_printed);
    RUN(v4_connects);
    RUN(v6_connects);
    RUN(foreign_source_is_told);
    return check_done("socket");
}
