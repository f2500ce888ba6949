/* The incoming HTTP layer: connections, limits, deadlines, keep-alive, pipelining (served in order,
 * one at a time), TLS, and HTTP/2 over TLS. RFC 9112, RFC 9113. It knows no routes: one handler
 * gets each whole request and answers it, at once or later, on the same loop. The handler does not
 * see the HTTP version.
 *
 * It answers these itself, as application/problem+json, and then closes: 400 (malformed), 408, 413,
 * 414, 417, 431, 501 (transfer codings except chunked, unknown methods), 503 (too many connections,
 * no room for a body), 505. Every response has Date and X-Request-Id (the client's own, if that is
 * 1..64 visible characters without commas).
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
const char *http_method_name(enum http_method method); /* "GET"; not for HTTP_OTHER */
enum http_method http_method_parse(struct str name);   /* HTTP_OTHER: none of these */

#define HTTP_REQUEST_MAGIC 0x4E90E571u

/* Valid from the handler's call until the response is complete. If the client leaves earlier, or
 * http_respond_by has answered, `gone` becomes true, and the handler's late answer is dropped. When
 * a server stops, all its requests are gone: then a handler starts nothing new. */
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
    bool secure;         /* TLS, here or according to a trusted proxy */
    bool gone;           /* the client has gone; may be noticed late */
    /* Set by headers_in: the bound on the body, 413 beyond (initially the server's); and `known`:
     * the client has a key or session, so that within its account's share its connection is closed
     * last. */
    size_t body_max_bytes;
    bool known;
    uint32_t account_no; /* 0: the operators' */
    /* Set by headers_in for the access log: the client, and whether the request is a probe. */
    struct str caller;
    bool is_probe;
    struct arena arena; /* freed with the request */
    struct loop *loop;
    void *context; /* the handler's */
};

struct str http_header(const struct http_request *r, const char *lower_name); /* absent: none */
/* The number of headers of that name: for those that must not be repeated. */
size_t http_header_count(const struct http_request *r, const char *lower_name);

/* A list header: its repetitions joined by commas (RFC 9110, 5.3). */
struct str http_header_list(struct http_request *r, const char *lower_name);

const char *http_status_title(int status); /* "Not Found"; static */
/* Begins the body of a problem (RFC 9457). The caller may add members, then ends the object. */
void http_begin_problem(struct json_writer *w, struct buf *to, int status, struct str detail);
/* The header line of every 503. */
#define HTTP_RETRY_AFTER "Retry-After: 2\r\n"

/* True if the remaining connections and buffers are kept for known clients and probes: answer 503
 * to others. For headers_in. */
bool http_is_crowded(const struct http_request *r);

/* A response in one piece. content_type NULL: none. extra_headers: "Name: value\r\n" lines or
 * absent; not Content-Length, Connection, Date or X-Request-Id. Copies the body. A HEAD request
 * gets only the headers. Afterwards the request is invalid. */
void http_respond(struct http_request *r, int status, const char *content_type,
                  struct str extra_headers, struct str body);

/* If the handler has not answered by then, the client gets 503 with this detail (static) and
 * Retry-After. The handler's later answer is dropped, and the connection closed. Call it within the
 * handler's call. */
void http_respond_by(struct http_request *r, int64_t mono_ms, const char *detail);

/* A response in pieces (chunked; for HTTP/1.0 until the close). `drained` is called, never within
 * http_respond_piece, when the piece is on its way and the next one may be given; at most one piece
 * waits. It is also called when the client has left: if `r->gone`, only the end is allowed. drained
 * NULL: no call; then only the end may follow. */
void http_respond_begin(struct http_request *r, int status, const char *content_type,
                        struct str extra_headers);
void http_respond_piece(struct http_request *r, struct str piece,
                        void (*drained)(struct http_request *r));
void http_respond_end(struct http_request *r);
/* Instead of the end, if the rest is not available: closes the connection without an end, so that
 * nobody takes the part for the whole. */
void http_respond_abort(struct http_request *r);

/* Responses with that status (200..599) since the start, of all servers. Any thread. */
int64_t http_responses(int status);

/* Of all servers. Any thread. */
struct http_numbers {
    int64_t connections, buffer_bytes; /* now */
    int64_t connections_refused,
        connections_closed; /* since the start: for lack of places or room */
    int64_t bodies_waited;  /* since the start: for room in the buffers */
};
struct http_numbers http_get_numbers(void);

struct access_log;
struct http_server;

/* One server's part of the process's bound on buffers, with that many servers: for
 * buffers_max_bytes. */
int64_t http_buffers_part(size_t servers);

struct http_server_options {
    void (*handle)(void *context, struct http_request *r);
    /* Called once per request when its headers are complete, before the body is read. Returns 0 to
     * go on; or answers (by http_respond) and returns 1: then the body is not read, and the
     * connection closes unless the body is here already. Called before 413 and 100 Continue. May be
     * NULL. */
    int (*headers_in)(void *context, struct http_request *r);
    void *context;
    /* Bytes of a large body, or of an HTTP/2 connection, that may be read in this tick: at least 1;
     * the rest follows in later ticks. NULL: no bound. */
    size_t (*body_tick_bytes)(void *context);
    void *body_context;
    int listen_fd;                 /* shared between loops; owned by the caller */
    void *tls_context;             /* SSL_CTX* or NULL; see net/tls.h */
    struct access_log *access_log; /* NULL: none is kept */
    const struct cidr *trusted_proxies;
    size_t trusted_proxy_count;
    /* 0: the limit of base/limits.h. The deadlines are absolute, so that sending slowly does not
     * help: for a whole head from its first byte, for a whole body from its head; and a waiting
     * response must be read within request_deadline_ms. */
    int64_t header_deadline_ms, request_deadline_ms, idle_ms;
    int64_t stall_ms, stall_known_ms;
    int64_t window_wait_ms; /* of an answer over HTTP/2, for more window */
    size_t body_max_bytes;
    int64_t connections_max, connections_per_address;
    int64_t connections_reserved; /* 0: a sixteenth of connections_max */
    int64_t buffers_max_bytes;    /* of all connections together; see base/limits.h */
};

/* One per loop. The trusted proxies are the caller's and must outlive it. */
struct http_server *http_server_new(struct loop *loop, const struct http_server_options *options);
/* For new connections: reloads certificates. The caller keeps its reference and may free the old
 * context afterwards: open connections have references of their own. */
void http_server_set_tls(struct http_server *server, void *tls_context);
/* For new requests; NULL: none. The former log is not used any more. */
void http_server_set_access_log(struct http_server *server, struct access_log *log);
/* For new requests; the former list is not used any more. */
void http_server_set_trusted_proxies(struct http_server *server, const struct cidr *trusted,
                                     size_t count);
/* Stops accepting, answers requests under way with Connection: close, and calls `stopped` when the
 * last connection has ended or at the deadline. */
void http_server_stop(struct http_server *server, int64_t deadline_mono_ms,
                      void (*stopped)(void *context), void *context);
/* Drops open connections. Unanswered requests stay valid until their handlers answer; those answers
 * are dropped. */
void http_server_free(struct http_server *server);
