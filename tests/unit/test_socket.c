/* Sockets: endpoints as text, listening and connecting over loopback, causes in words. */
#include "check.h"

#include "net/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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

/* What systemd's socket units open: both families, and nothing of ours set. */
static void a_socket_of_both_families_is_adopted(void)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    struct address from = {AF_INET, {127, 0, 0, 9}};
    struct endpoint at, peer;
    int error = 0, listener = socket(AF_INET6, SOCK_STREAM, 0);
    if (listener < 0) /* a system without IPv6 */
        return;
    CHECK(!socket_adopt(listener)); /* it does not listen */
    REQUIRE(bind(listener, (struct sockaddr *)&any, sizeof any) == 0 && listen(listener, 8) == 0);
    REQUIRE(socket_adopt(listener));
    CHECK(fcntl(listener, F_GETFL) & O_NONBLOCK);
    CHECK(fcntl(listener, F_GETFD) & FD_CLOEXEC);
    REQUIRE(socket_local(listener, &at));
    at.address = (struct address){AF_INET, {127, 0, 0, 1}};
    int fd = socket_connect(&at, &from, &error);
    REQUIRE(fd >= 0);
    wait_for(listener, POLLIN);
    int accepted = socket_accept(listener, &peer, &error);
    REQUIRE(accepted >= 0);
    CHECK_EQ_INT(peer.address.family, AF_INET);
    CHECK(memcmp(peer.address.bytes, from.bytes, 16) == 0);
    CHECK(!socket_adopt(accepted));
    close(accepted);
    close(fd);
    close(listener);
}

static void what_is_no_tcp_socket_is_not_adopted(void)
{
    int pair[2], pipes[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(pipes) == 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int local = socket(AF_UNIX, SOCK_STREAM, 0);
    /* Bound to a name that the kernel picks. */
    REQUIRE(bind(local, (struct sockaddr *)&name, sizeof name.sun_family) == 0);
    REQUIRE(listen(local, 8) == 0);
    CHECK(!socket_adopt(pair[0]));
    CHECK(!socket_adopt(pipes[0]));
    CHECK(!socket_adopt(local));
    CHECK(!socket_adopt(-1));
    close(local);
    for (int i = 0; i < 2; i++) {
        close(pair[i]);
        close(pipes[i]);
    }
}

int main(void)
{
    RUN(endpoints_are_read_and_printed);
    RUN(v4_connects);
    RUN(v6_connects);
    RUN(foreign_source_is_told);
    RUN(a_socket_of_both_families_is_adopted);
    RUN(what_is_no_tcp_socket_is_not_adopted);
    return check_done("socket");
}
