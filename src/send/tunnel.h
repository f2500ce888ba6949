/* A way through an HTTP proxy: CONNECT to an address (RFC 9110, section 9.3.6). The proxy is told
 * an address, never a name: what was checked here is what is connected to. */
#pragma once

#include "base/buf.h"
#include "net/loop.h"
#include "net/socket.h"

/* The caller's memory, zero-initialised, the upper part filled. */
struct tunnel {
    struct loop *loop;
    struct endpoint target;
    struct str userinfo; /* "user:password" for the proxy, absent: none */
    /* Never from tunnel_start. status: 2xx, and the way is open; else the proxy's answer, or 0:
     * it closed or said nothing that can be understood. The descriptor is handed back. */
    void (*done)(struct tunnel *tunnel, int fd, int status);

    struct io io;
    struct buf request;
    char reply[2048];
    size_t reply_bytes;
};

void tunnel_start(struct tunnel *tunnel, int fd); /* connected to the proxy; taken over */
void tunnel_cancel(struct tunnel *tunnel);        /* closes; done is not called; idle ones too */
