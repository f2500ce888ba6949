/* System calls of TCP, with the options that every socket here has. */
#include "net/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

/* The kernel limits it to net.core.somaxconn. */
#define LISTEN_BACKLOG 4096

static socklen_t to_kernel(struct sockaddr_storage *to, const struct address *a, uint16_t port)
{
    memset(to, 0, sizeof *to);
    if (a->family == AF_INET) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)to;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        memcpy(&v4->sin_addr, a->bytes, 4);
        return sizeof *v4;
    }
    ASSERT(a->family == AF_INET6);
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    memcpy(&v6->sin6_addr, a->bytes, 16);
    return sizeof *v6;
}

static bool from_kernel(const struct sockaddr_storage *from, struct endpoint *ret)
{
    struct endpoint e = {0};
    e.address.family = from->ss_family;
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
        memcpy(e.address.bytes, &v4->sin_addr, 4);
        e.port = ntohs(v4->sin_port);
    } else if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
        memcpy(e.address.bytes, &v6->sin6_addr, 16);
        address_unmap(&e.address);
        e.port = ntohs(v6->sin6_port);
    } else {
        return false;
    }
    *ret = e;
    return true;
}

static bool parse_port(struct str text, uint16_t *ret)
{
    uint64_t port;
    if (text.n > 5 || !str_parse_uint(text, UINT16_MAX, &port))
        return false;
    *ret = (uint16_t)port;
    return true;
}

bool endpoint_parse(struct str text, struct endpoint *ret)
{
    struct endpoint e;
    const char *colon = text.p && text.n ? memrchr(text.p, ':', text.n) : NULL;
    if (!colon)
        return false;
    struct str host = {text.p, (size_t)(colon - text.p)};
    struct str port = {colon + 1, text.n - host.n - 1};
    bool bracketed = host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
    if (bracketed)
        host = (struct str){host.p + 1, host.n - 2};
    if (!parse_port(port, &e.port) || !address_parse(host, &e.address) ||
        bracketed != (e.address.family == AF_INET6))
        return false;
    *ret = e;
    return true;
}

void endpoint_print(struct buf *to, const struct endpoint *e)
{
    bool v6 = e->address.family == AF_INET6;
    buf_add_c(to, v6 ? "[" : "");
    address_print(to, &e->address);
    buf_add_c(to, v6 ? "]:" : ":");
    buf_add_int(to, e->port);
}

static void set_option(int fd, int level, int name)
{
    int on = 1;
    (void)setsockopt(fd, level, name, &on, sizeof on);
}

int socket_listen(const struct endpoint *at, int *ret_errno)
{
    struct sockaddr_storage where;
    socklen_t n = to_kernel(&where, &at->address, at->port);
    int fd = socket(at->address.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        *ret_errno = errno;
        return -1;
    }
    set_option(fd, SOL_SOCKET, SO_REUSEADDR); /* a restart must not wait for old connections */
    set_option(fd, IPPROTO_TCP, TCP_NODELAY); /* accepted sockets inherit it */
    if (at->address.family == AF_INET6)
        set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY);
    if (bind(fd, (struct sockaddr *)&where, n) != 0 || listen(fd, LISTEN_BACKLOG) != 0) {
        *ret_errno = errno;
        close(fd);
        return -1;
    }
    return fd;
}

bool socket_adopt(int fd)
{
    struct endpoint at;
    int type = 0, listens = 0, flags = fcntl(fd, F_GETFL);
    socklen_t n = sizeof type, m = sizeof listens;
    if (flags < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) != 0 || type != SOCK_STREAM ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &m) != 0 || !listens ||
        !socket_local(fd, &at))
        return false;
    set_option(fd, IPPROTO_TCP, TCP_NODELAY);
    return fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

int socket_accept(int listen_fd, struct endpoint *ret_peer, int *ret_errno)
{
    struct sockaddr_storage peer = {0};
    socklen_t n = sizeof peer;
    int fd = accept4(listen_fd, (struct sockaddr *)&peer, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        *ret_errno = errno;
        return -1;
    }
    ASSERT(from_kernel(&peer, ret_peer)); /* listening sockets have only these families */
    return fd;
}

bool socket_accept_exhausted(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

int socket_connect(const struct endpoint *to, const struct address *from, int *ret_errno)
{
    struct sockaddr_storage where;
    int fd = socket(to->address.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        *ret_errno = errno;
        return -1;
    }
    set_option(fd, IPPROTO_TCP, TCP_NODELAY);
    if (from) {
        /* the kernel then chooses the port at connect, so that one source port serves many
         * destinations */
        set_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT);
        socklen_t n = to_kernel(&where, from, 0);
        if (bind(fd, (struct sockaddr *)&where, n) != 0)
            goto failed;
    }
    socklen_t n = to_kernel(&where, &to->address, to->port);
    if (connect(fd, (struct sockaddr *)&where, n) == 0 || errno == EINPROGRESS)
        return fd;
failed:
    *ret_errno = errno;
    close(fd);
    return -1;
}

int socket_source_error(const struct address *from)
{
    struct sockaddr_storage where;
    int fd = socket(from->family, SOCK_STREAM | SOCK_CLOEXEC, 0), error = 0;
    if (fd < 0)
        return errno;
    if (bind(fd, (struct sockaddr *)&where, to_kernel(&where, from, 0)) != 0)
        error = errno;
    close(fd);
    return error;
}

/* The kernel answers for any address outside this network in the same way, so one address of each
 * family is enough. These belong to a root name server (a.root-servers.net). Connecting a UDP
 * socket only looks up the route. */
bool socket_has_route(int family)
{
    static const struct address internet_v4 = {AF_INET, {198, 41, 0, 4}},
                                internet_v6 = {AF_INET6,
                                               {0x20, 0x01, 0x05, 0x03, 0xba, 0x3e, 0, 0, 0, 0, 0,
                                                0, 0, 0x02, 0, 0x30}};
    struct sockaddr_storage where;
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno != EAFNOSUPPORT; /* otherwise nothing is known about the route */
    const struct address *to = family == AF_INET ? &internet_v4 : &internet_v6;
    bool has = connect(fd, (struct sockaddr *)&where, to_kernel(&where, to, 53)) == 0;
    close(fd);
    return has;
}

/* A route to one of the machine's own addresses begins at that address. Trying to bind to the
 * address would not tell if net.ipv4.ip_nonlocal_bind is on. The socket is UDP, because connecting
 * it sends nothing. */
bool socket_is_own_address(const struct address *a)
{
    struct sockaddr_storage where;
    struct endpoint here;
    struct address v4;
    if (address_embedded_v4(a, &v4))
        a = &v4;
    int fd = socket(a->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false; /* no descriptor is left, so no connection can be made either */
    bool own = connect(fd, (struct sockaddr *)&where, to_kernel(&where, a, 1)) == 0 &&
               socket_local(fd, &here) && here.address.family == a->family &&
               memcmp(here.address.bytes, a->bytes, a->family == AF_INET ? 4 : 16) == 0;
    close(fd);
    return own;
}

int socket_connect_error(int fd)
{
    int error = 0;
    socklen_t n = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 ? error : errno;
}

bool socket_local(int fd, struct endpoint *ret)
{
    struct sockaddr_storage here = {0};
    socklen_t n = sizeof here;
    return getsockname(fd, (struct sockaddr *)&here, &n) == 0 && from_kernel(&here, ret);
}

const char *socket_error_text(int error)
{
    switch (error) {
    case ECONNREFUSED: return "connection refused: nothing listens on that port";
    case ETIMEDOUT: return "the connection timed out: no answer from that address";
    case ECONNRESET:
    case EPIPE: return "the connection was reset by the peer";
    case EHOSTUNREACH: return "no route to that host";
    case ENETUNREACH: return "no route to that network";
    case EADDRINUSE: return "the address is in use by another program";
    case EADDRNOTAVAIL: return "the address is not one of this machine, or its ports are used up";
    case EACCES:
    case EPERM: return "not permitted by this system";
    case EMFILE:
    case ENFILE: return "too many open files";
    default: return strerror(error);
    }
}
