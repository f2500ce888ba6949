/* TCP sockets: non-blocking, close-on-exec, without Nagle. Descriptors are plain ints owned by
 * the caller; errors are errno values, and socket_error_text says them as a sentence. */
#pragma once

#include "base/buf.h"
#include "base/check.h"
#include "domain/url.h"

struct endpoint {
    struct address address;
    uint16_t port; /* host order */
};

/* "127.0.0.1:8080", "[::1]:0"; the address is an address, never a name. */
MUST_CHECK bool endpoint_parse(struct str text, struct endpoint *ret);
void endpoint_print(struct buf *to, const struct endpoint *e);

/* A listening socket, -1 with *ret_errno set on failure. Port 0 picks one: see socket_local.
 * An IPv6 socket takes IPv6 only. Share one between loops with IO_EXCLUSIVE. */
MUST_CHECK int socket_listen(const struct endpoint *at, int *ret_errno);
/* Makes a listening TCP socket that another process has opened one of ours. It may be of both
 * families: IPv4 peers are then told apart by their addresses as usual. False: it is none. */
MUST_CHECK bool socket_adopt(int fd);
/* The next waiting connection, -1 with *ret_errno set: EAGAIN when there is none. */
MUST_CHECK int socket_accept(int listen_fd, struct endpoint *ret_peer, int *ret_errno);
/* Whether an errno of accept speaks of our own want of descriptors or memory: then trying again
 * at once only burns time. Other errors concern one connection that is gone already. */
bool socket_accept_exhausted(int error);
/* Begins to connect; from: the local address to bind, or NULL. The descriptor becomes writable
 * when it is decided: then ask socket_connect_error. -1 with *ret_errno set when it failed at
 * once. */
MUST_CHECK int socket_connect(const struct endpoint *to, const struct address *from,
                              int *ret_errno);
int socket_connect_error(int fd); /* 0: connected */
/* Whether connections can be made from this address: 0, or the errno of binding to it. */
int socket_source_error(const struct address *from);
/* Whether the address, or the IPv4 one embedded in it, is one of this machine's. Asked of the
 * kernel, which knows of changes. */
bool socket_is_own_address(const struct address *a);
bool socket_local(int fd, struct endpoint *ret);
/* "connection refused: nothing listens on that port", ... Static or the C library's. */
const char *socket_error_text(int error);
