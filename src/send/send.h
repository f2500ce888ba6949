/* The outgoing HTTP client: one exchange = one request to one URL under one deadline.
 *
 * It owns names, addresses, connections and TLS: DNS that cannot block (c-ares), the address
 * check on the very address connected to, keep-alive pools per destination, TLS session
 * resumption, bounded bodies, no redirects, the retry of a stale keep-alive connection within
 * the same exchange. It knows nothing of lanes, schedules or signatures. One per loop. */
#pragma once

#include "base/arena.h"
#include "domain/attempt.h"
#include "domain/destination_rules.h"
#include "domain/request_format.h"
#include "domain/url.h"
#include "net/loop.h"

struct sender;
struct tls_authorities;

/* Who we are to receivers that ask (TLS client authentication). PEM, the certificate first, then
 * its chain; sha256 is of the certificate and tells identities apart: connections and TLS sessions
 * are shared within one only. */
struct client_identity {
    struct str certificate, key;
    uint8_t sha256[32];
};

struct sender_options {
    struct destination_rules rules; /* which addresses may be connected to */
    const struct address *sources;  /* local addresses to bind, taken in turn by family */
    size_t source_count;
    struct tls_authorities *authorities; /* whom to trust; needed by sender_new only */
    const char *dns_server;              /* "addr[:port]"; NULL: the system's */
    const char *user_agent;
    const char *proxy; /* "http://[user:password@]host[:port]"; NULL: none. Names are resolved and
                        * addresses checked here all the same, the proxy is told an address */
    bool http2;        /* offered by ALPN to https receivers: their exchanges share a connection */
    int32_t connections_max; /* of this loop, idle ones included */
    int32_t idle_per_destination;
    int64_t idle_ms;
};

MUST_CHECK struct sender *sender_new(struct loop *loop, const struct sender_options *options,
                                     char **ret_why);
/* For sender_options.authorities; to be freed by tls_context_free. NULL: *ret_why as there. */
MUST_CHECK struct ssl_ctx_st *sender_make_tls(struct tls_authorities *authorities, bool http2,
                                              char **ret_why);
/* From now on, on the loop's thread: connections of before end with what is under way on them.
 * tls NULL: who is trusted stays; else the sender takes a reference. */
void sender_change(struct sender *sender, const struct destination_rules *rules,
                   struct ssl_ctx_st *tls);
void sender_free(struct sender *sender); /* when no exchange is under way */

/* Filled by the caller, valid until `done`; may be cancelled. Texts are the caller's. Zeroed before
 * the first use; used again, the buffers of the results are cleared and their memory reused. */
struct exchange {
    const struct url *url;
    struct str headers;         /* "Name: value\r\n" lines besides Host, Content-Length, User-Agent,
                                 * Content-Type, Accept-Encoding, Authorization, which are added */
    struct str body;            /* of a GET: empty */
    enum request_format format; /* zero: a POST of JSON */
    bool has_values;            /* its URL has values of the callback, which `detail` must not */
    const struct client_identity *identity; /* https: shown when asked for; NULL: none */
    int64_t timeout_ms;         /* whole exchange, counted from sender_start, DNS included */
    int64_t connect_timeout_ms; /* of it, for name, connection and TLS */
    bool wants_body;            /* it decides whether a 2xx is a success. Otherwise `done` comes at
                                 * most LIMIT_ATTEMPT_BODY_WAIT_MS after the headers of a 2xx */
    void (*done)(struct exchange *x);

    /* results */
    enum attempt_class class;
    int status;                  /* final status, 0: none */
    char detail[256];            /* a sentence a partner can act on; empty on success */
    int64_t retry_after_ms;      /* how long the receiver asked to wait (429, 503), -1: not asked */
    struct buf request_headers;  /* as sent, credentials masked; "Name: value\n" lines */
    struct buf response_headers; /* "Name: value\n" lines, at most LIMIT_ATTEMPT_HEADER_BYTES */
    struct buf response_body;    /* first LIMIT_ATTEMPT_BODY_KEPT_BYTES */
    bool response_is_whole;      /* the body's end has come */
    int32_t duration_ms;
    bool reused_connection;
    int64_t certificate_expires_ms; /* the receiver's, wall; 0: none was seen */
    void *internal;                 /* the sender's */
};

void sender_start(struct sender *sender,
                  struct exchange *x); /* done comes later, never from here */
/* Writes what was started and not written yet. It would be written in the loop's next timers
 * anyway: for who starts exchanges at the end of a tick. Calls nobody back. */
void sender_flush(struct sender *sender);
void sender_cancel(struct sender *sender, struct exchange *x); /* at once; done is not called */
void exchange_free_results(struct exchange *x);
/* Parts of it may come from the network: what is not printable ASCII is a question mark, what is
 * too long is cut. */
void exchange_set_detail(struct exchange *x, struct str sentence);

struct sender_numbers {
    int64_t connections, idle_connections, opened, reused, dns_queries;
};
void sender_get_numbers(const struct sender *sender, struct sender_numbers *ret);
