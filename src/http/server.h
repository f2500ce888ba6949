/* The incoming HTTP layer: connections, limits, deadlines, keep-alive, pipelining (served in order,
 * one at a time), TLS, and over it HTTP/2 for those who ask for it. RFC 9112, RFC 9113. It knows
 * nothing of routes: one handler gets each whole request and answers it, at once or later, on the
 * same loop, and does not see the version.
 *
 * What it answers by itself: 400 (malformed), 408, 413, 414, 417, 431, 501 (transfer codings but
 * chunked, unknown methods), 503 (too many connections, no room for a body), 505; as
 * application/problem+json, and then closes. Every response carries X-Request-Id (the client's own,
 * when it is 1..64 visible characters without commas) and Date.
 *
 * Everything here belongs to the loop's thread. */
#pragma once

#include "base/arena.h"
#include "domain/address.h"
#include "http/header.h"
#include "net/loop.h"
#include "json/writer.h"

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
const char *http_method_name(enum http_method method); /* "GET"; not of HTTP_OTHER */
enum http_method http_method_parse(struct str name);   /* HTTP_OTHER: it is none of these */

#define HTTP_REQUEST_MAGIC 0x4E90E571u

/* Valid from the handler's call until the response is complete. When the client goes away
 * earlier, or has been answered by http_respond_by, `gone` becomes true; the handler's late answer
 * is then dropped. Of a server that has stopped all are gone: a handler that is still at work asks
 * nobody for anything then. */
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
    bool gone;           /* the client is; it may still be false for one that has left */
    /* For headers_in to set: the body's bound, 413 beyond (at first the server's); and that the
     * client has proved who it is, which makes its connection the last one to be closed, within
     * the share of its account. */
    size_t body_max_bytes;
    bool known;
    uint32_t account_no; /* 0: the operators' */
    /* Likewise, for the access log: who the client is, and that it only asks how we are. */
    struct str caller;
    bool is_probe;
    struct arena arena; /* freed with the request */
    struct loop *loop;
    void *context; /* the handler's */
};

struct str http_header(const struct http_request *r, const char *lower_name); /* absent: none */
/* Repeated headers of that name; for those that must not stand twice. */
size_t http_header_count(const struct http_request *r, const char *lower_name);

/* A header that is a list, with its repetitions joined by commas (RFC 9110, 5.3). */
struct str http_header_list(struct http_request *r, const char *lower_name);

const char *http_status_title(int status); /* "Not Found"; static */
/* Begins the body of a problem (RFC 9457). The caller may add members, and ends the object. */
void http_begin_problem(struct json_writer *w, struct buf *to, int status, struct str detail);
/* The header line that every 503 has. */
#define HTTP_RETRY_AFTER "Retry-After: 2\r\n"

/* Whether what is left of connections and buffers is kept for those who are known and for probes:
 * others are to be answered 503. For headers_in. */
bool http_is_crowded(const struct http_request *r);

/* A response in one piece. content_type NULL: none. extra_headers: "Name: value\r\n" lines or
 * absent; not Content-Length, Connection, Date or X-Request-Id. The body is copied. HEAD requests
 * get the headers only. The request is gone when this returns. */
void http_respond(struct http_request *r, int status, const char *content_type,
                  struct str extra_headers, struct str body);

/* Where the handler has not answered by then, the client is told 503 with this detail (static)
 * and Retry-After; what the handler answers later is dropped, and the connection closed behind it.
 * Within the handler's call. */
void http_respond_by(struct http_request *r, int64_t mono_ms, const char *detail);

/* A response in pieces (chunked; to HTTP/1.0 until the close). `drained` is called, never from
 * within http_respond_piece, when what was given is on its way, and the next piece may be given;
 * never more than one piece waits. It is called too when the client went away meanwhile: after
 * `r->gone` only end is allowed. drained NULL: nobody asks; then only end may follow. */
void http_respond_begin(struct http_request *r, int status, const char *content_type,
                        struct str extra_headers);
void http_respond_piece(struct http_request *r, struct str piece,
                        void (*drained)(struct http_request *r));
void http_respond_end(struct http_request *r);
/* Instead of the end, when the rest cannot be had: closes the connection without one, so that
 * nobody takes what has been sent for the whole. */
void http_respond_abort(struct http_request *r);

/* Responses begun with that status (200..599) since the start, of all servers. Any thread. */
int64_t http_responses(int status);

/* Of all servers. Any thread. */
struct http_numbers {
    int64_t connections, buffer_bytes;               /* now */
    int64_t connections_refused, connections_closed; /* so far: for want of places, or of room */
    int64_t bodies_waited;                           /* so far: for room in the buffers */
};
struct http_numbers http_get_numbers(void);

struct access_log;
struct http_server;

/* Of what all connections of the process may hold in buffers, the part of one of so many servers:
 * for buffers_max_bytes. */
int64_t http_buffers_part(size_t servers);

struct http_server_options {
    void (*handle)(void *context, struct http_request *r);
    /* Called once per request when its headers are in, before the body is read: returns 0 to go
     * on, or answers (with http_respond) and returns 1; then the body is not read, and unless it
     * is here already, the connection closes. Comes before 413 and 100 Continue. May be NULL. */
    int (*headers_in)(void *context, struct http_request *r);
    void *context;
    /* How much of a large body, or of a connection of HTTP/2, may be read in this tick: 1 byte at
     * least; what is left comes in the next ticks. NULL: as much as there is. */
    size_t (*body_tick_bytes)(void *context);
    void *body_context;
    int listen_fd;                 /* shared between loops; owned by the caller */
    void *tls_context;             /* SSL_CTX* or NULL; see net/tls.h */
    struct access_log *access_log; /* NULL: none is kept */
    const struct cidr *trusted_proxies;
    size_t trusted_proxy_count;
    /* 0: the limit of base/limits.h. The deadlines are absolute, so that dripping does not help:
     * a head must be whole so long after its first byte, a body so long after its head, and a
     * response that waits for the client must be taken within request_deadline_ms. */
    int64_t header_deadline_ms, request_deadline_ms, idle_ms;
    int64_t stall_ms, stall_known_ms;
    int64_t window_wait_ms; /* of an answer over HTTP/2 for more window */
    size_t body_max_bytes;
    int64_t connections_max, connections_per_address;
    int64_t connections_reserved; /* 0: a sixteenth of connections_max */
    int64_t buffers_max_bytes; /* of all connections together; base/limits.h says what is bounded */
};

/* One per loop. The trusted proxies are the caller's and must outlive it. */
struct http_server *http_server_new(struct loop *loop, const struct http_server_options *options);
/* For connections from now on: how certificates are reloaded. The caller keeps its reference and
 * may free the old context afterwards: open connections hold their own. */
void http_server_set_tls(struct http_server *server, void *tls_context);
/* For requests from now on; NULL: none. The former one is not used any more. */
void http_server_set_access_log(struct http_server *server, struct access_log *log);
/* For requests from now on; the former list is not used any more. */
void http_server_set_trusted_proxies(struct http_server *server, const struct cidr *trusted,
                                     size_t count);
/* Stops accepting, answers what is in flight with Connection: close, calls `stopped` when the
 * last connection is gone or at the deadline. */
void http_server_stop(struct http_server *server, int64_t deadline_mono_ms,
                      void (*stopped)(void *context), void *context);
/* Open connections are dropped. Requests whose handler has not answered yet stay valid until it
 * does; their answers are thrown away. */
void http_server_free(struct http_server *server);
