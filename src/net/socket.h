/* TCP sockets: non-blocking, close-on-exec, without Nagle. The caller owns the descriptors. Errors
 * are errno values; socket_error_text turns them into sentences. */
#pragma once

#include "base/buf.h"
#include "base/check.h"
#include "domain/address.h"

struct endpoint {
    struct address address;
    uint16_t port; /* host order */
};

/* "127.0.0.1:8080", "[::1]:0"; no names. */
MUST_CHECK bool endpoint_parse(struct str text, struct endpoint *ret);
void endpoint_print(struct buf *to, const struct endpoint *e);

/* A listening socket, -1 with *ret_errno set on failure. Port 0 lets the kernel choose: see
 * socket_local. An IPv6 socket accepts IPv6 only. Several loops may share it with IO_EXCLUSIVE. */
MUST_CHECK int socket_listen(const struct endpoint *at, int *ret_errno);
/* Prepares a listening TCP socket that another process has opened. It may accept both families: the
 * peers' addresses tell which. False: not such a socket. */
MUST_CHECK bool socket_adopt(int fd);
/* The next waiting connection, -1 with *ret_errno set: EAGAIN when there is none. */
MUST_CHECK int socket_accept(int listen_fd, struct endpoint *ret_peer, int *ret_errno);
/* True if an errno of accept means a lack of descriptors or memory, so that trying again at once is
 * useless. Other errors concern a single connection that is closed already. */
bool socket_accept_exhausted(int error);
/* Begins to connect; from: the local address to bind, or NULL. The descriptor becomes writable when
 * the result is known: then call socket_connect_error. -1 with *ret_errno set on immediate
 * failure. */
MUST_CHECK int socket_connect(const struct endpoint *to, const struct address *from,
                              int *ret_errno);
int socket_connect_error(int fd); /* 0: connected */
/* 0 if connections can be made from this address, otherwise the errno of binding to it. */
int socket_source_error(const struct address *from);
/* True if the address, or the IPv4 address embedded in it, is one of this machine's. Asks the
 * kernel each time, as addresses change. */
bool socket_is_own_address(const struct address *a);
/* True if the routing table has a route of that family to the Internet. Asks the kernel each time;
 * sends nothing. */
bool socket_has_route(int family);
bool socket_local(int fd, struct endpoint *ret);
/* "connection refused: nothing listens on that port", ... Static, or the C library's. */
const char *socket_error_text(int error);
