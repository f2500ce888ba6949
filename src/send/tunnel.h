/* A tunnel through an HTTP proxy: CONNECT to an address (RFC 9110, section 9.3.6). The proxy gets
 * the checked address and never a name. */
#pragma once

#include "base/buf.h"
#include "net/loop.h"
#include "net/socket.h"

/* The caller's memory, zero-initialised, the members up to `done` filled. */
struct tunnel {
    struct loop *loop;
    struct endpoint target;
    struct str userinfo; /* "user:password" for the proxy; absent: none */
    /* Never called from tunnel_start. status: 2xx: the tunnel is open; otherwise the proxy's
     * status, or 0: it closed, or its reply is invalid. The caller gets the descriptor back. */
    void (*done)(struct tunnel *tunnel, int fd, int status);

    struct io io;
    struct buf request;
    char reply[2048];
    size_t reply_bytes;
};

/* fd: connected to the proxy; the tunnel takes it over */
void tunnel_start(struct tunnel *tunnel, int fd);
/* closes; done is not called; does nothing on an idle one */
void tunnel_cancel(struct tunnel *tunnel);
