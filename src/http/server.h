/* The incoming HTTP/1.1 layer: connections, limits, deadlines, keep-alive, pipelining (served in
 * order, one at a time), TLS. RFC 9112. It knows nothing of routes: one handler gets each whole
 * request and answers it, at once or later, on the same loop.
 *
 * What it answers by itself: 400 (malformed), 408, 413, 414, 431, 501 (transfer codings but
 * chunked), 503 (too many connections); as application/problem+json. Every response carries
 * X-Request-Id (the client's own, when it is 1..64 visible characters without commas). */
#pragma once

#include "base/arena.h"
#include "domain/url.h"
#include "net/loop.h"

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_PATCH,
    HTTP_DELETE,
    HTTP_OPTIONS,
    HTTP_OTHER
};

struct http_header {
    struct str name, value; /* name lower-cased */
};

#define HTTP_REQUEST_MAGIC 0x4E90E571u

/* Valid from the handler's call until the response is complete. When the client goes away
 * earlier, `gone` becomes true; the handler's late answer is then dropped. */
struct http_request {
    uint32_t magic;
    enum http_method method;
    struct str method_text;
    struct str path;  /* as sent, still percent-encoded, without the query */
    struct str query; /* behind '?', absent when there is none */
    struct http_header *headers;
    size_t header_count;
    struct str body;
    struct str request_id;
    struct address peer; /* the client's, through trusted proxies */
    bool secure;         /* TLS here, or a trusted proxy says so */
    bool gone;
    struct arena arena; /* freed with the request */
    struct loop *loop;
    void *context; /* the handler's */
};

struct str http_header(const struct http_request *r, const char *lower_name); /* absent: none */
/* Repeated headers of that name; for those that must not stand twice. */
size_t http_header_count(const struct http_request *r, const char *lower_name);

/* A response in one piece. extra_headers: "Name: value\r\n" lines or absent. The body is copied.
 * HEAD requests get the headers only. */
void http_respond(struct http_request *r, int status, const char *content_type,
                  struct str extra_headers, struct str body);

/* A response in pieces (chunked). `drained` is called when what was given is on its way, and the
 * next piece may be given; never more than one piece waits. After `r->gone` only end is allowed. */
void http_respond_begin(struct http_request *r, int status, const char *content_type,
                        struct str extra_headers);
void http_respond_piece(struct http_request *r, struct str piece,
                        void (*drained)(struct http_request *r));
void http_respond_end(struct http_request *r);

struct http_server;

struct http_server_options {
    void (*handle)(void *context, struct http_request *r);
    /* Called once per request when its headers are in, before the body is read: returns 0 to go
     * on, or answers (with http_respond) and returns 1. May be NULL. */
    int (*headers_in)(void *context, struct http_request *r);
    void *context;
    int listen_fd;     /* shared between loops; owned by the caller */
    void *tls_context; /* SSL_CTX* or NULL; see net/tls.h */
    const struct cidr *trusted_proxies;
    size_t trusted_proxy_count;
};

/* One per loop. */
struct http_server *http_server_new(struct loop *loop, const struct http_server_options *options);
void http_server_set_tls(struct http_server *server, void *tls_context); /* new connections */
/* Stops accepting, answers what is in flight with Connection: close, calls `stopped` when the
 * last connection is gone or at the deadline. */
void http_server_stop(struct http_server *server, int64_t deadline_mono_ms,
                      void (*stopped)(void *context), void *context);
void http_server_free(struct http_server *server);
/* Connections open, requests served and refused; for metrics. */
struct http_server_numbers {
    int64_t connections, requests, refused;
};
void http_server_get_numbers(const struct http_server *server, struct http_server_numbers *ret);
