/* For tests of the HTTP server: a server thread on a port of its own with a handler that shows
 * what it was given, and a client on blocking sockets in the test's thread. */
#pragma once

#include "check.h"

#include "base/alloc.h"
#include "base/check.h"
#include "http/server.h"
#include "net/socket.h"

#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>

/* ---- the server */

struct host {
    struct loop *loop;
    struct http_server *server;
    struct http_server_options options;
    int listen_fd;
    uint16_t port;
    pthread_t thread;
    struct task task;
    int64_t stop_after_ms;
    atomic_int handled, gone_seen, bodies_good, thread_id;
    int held; /* requests that the handler has yet to answer */
    bool server_is_freed;
    struct later *at_stop;      /* to be answered once stopping has begun */
    atomic_llong mono_added_ms; /* by which the server's clock is ahead */
    atomic_bool told;           /* requests of /when-told are answered */
};

extern struct host host;

struct later {
    struct timer timer;
    struct http_request *r;
    int pieces_left;
    char fill[20000];
};

void handle(void *context, struct http_request *r);

bool host_start(struct http_server_options options);

void host_begin_stop(int64_t after_ms);

void host_join(void);

void host_stop(void);

/* ---- the client */

int dial(void);

void put(int fd, struct str bytes);

/* Adds what comes, up to the server's end; false when that did not come. */
bool get_all(int fd, struct buf *to);

extern struct buf answer;

/* Until `count` times `what` has come. */
bool get_times(int fd, const char *what, int count);

/* Sends it all, reads all; the server must end the connection. */
bool talk(struct str request);

int status(void);

bool says(const char *text);

#define CLOSE "Host: h\r\nConnection: close\r\n\r\n"
#define H "GET / HTTP/1.1\r\nHost: h\r\n"
#define P "POST / HTTP/1.1\r\nHost: h\r\n"

/* The bytes that the handler counts as good. */
void add_body(struct buf *b, size_t from, size_t n);

/* From 127.0.0.`last`, which makes it another client. */
int dial_from(int last);

/* Whether the server answers this request on an open connection. */
bool serves(int fd, const char *path);

bool is_closed(int fd);

/* A POST to /`path` of which `sent` of the `announced` bytes are sent; end_post sends the rest, and
 * reads the answer. begin_post is one to /body. */
int begin_post_to(const char *path, int from, size_t announced, size_t sent);
int begin_post(int from, size_t announced, size_t sent);
void end_post(int fd, size_t announced, size_t sent);
