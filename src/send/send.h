/* The outgoing HTTP client. An exchange is one request to one URL with one deadline.
 *
 * It handles names, addresses, connections and TLS: non-blocking DNS (c-ares), the check of the
 * address that is connected to, keep-alive pools for each destination, TLS session resumption,
 * bounded bodies, no redirects, and one retry within the exchange if a keep-alive connection was
 * stale. It knows nothing of lanes, schedules or signatures. There is one sender for each loop. */
#pragma once

#include "base/arena.h"
#include "domain/attempt.h"
#include "domain/destination_rules.h"
#include "domain/local_fault.h"
#include "domain/request_format.h"
#include "domain/url.h"
#include "net/loop.h"

struct sender;
struct tls_authorities;

/* A client certificate for receivers that ask (TLS client authentication). PEM, the certificate
 * first, then its chain. sha256, of the certificate, identifies it: connections and TLS sessions
 * are shared within one identity only. */
struct client_identity {
    struct str certificate, key;
    uint8_t sha256[32];
};

struct sender_options {
    struct destination_rules rules; /* which addresses are allowed */
    const struct address *sources;  /* local addresses to bind, used in turn by family */
    size_t source_count;
    struct tls_authorities *authorities; /* trusted authorities; used by sender_new only */
    const char *dns_server;              /* "addr[:port]"; NULL: the system's */
    const char *user_agent;
    /* "http://[user:password@]host[:port]"; NULL: none. Names are resolved and addresses checked
     * here all the same; the proxy gets an address */
    const char *proxy;
    bool http2; /* ALPN offers it to https receivers; exchanges then share a connection */
    int32_t connections_max; /* of this loop, including idle ones */
    int32_t idle_per_destination;
    int64_t idle_ms;
};

MUST_CHECK struct sender *sender_new(struct loop *loop, const struct sender_options *options,
                                     char **ret_why);
/* For sender_options.authorities; free it with tls_context_free. NULL: *ret_why is a sentence
 * (free() it). */
MUST_CHECK struct ssl_ctx_st *sender_make_tls(struct tls_authorities *authorities, bool http2,
                                              char **ret_why);
/* Changes rules and trust, on the loop's thread: older connections close after their current
 * exchanges. tls NULL: the trust stays; otherwise the sender takes a reference. */
void sender_change(struct sender *sender, const struct destination_rules *rules,
                   struct ssl_ctx_st *tls);
void sender_free(struct sender *sender); /* no exchange may be under way */

/* The caller fills it and keeps it, with its texts, valid until `done` or sender_cancel. Zeroed
 * before the first use; reuse clears the result buffers and keeps their memory. */
struct exchange {
    const struct url *url;
    /* "Name: value\r\n" lines; Host, Content-Length, User-Agent, Content-Type, Accept-Encoding and
     * Authorization are added */
    struct str headers;
    struct str body;            /* empty for a GET */
    enum request_format format; /* zero: a POST of JSON */
    bool has_values; /* its URL has values of the callback, which must not appear in `detail` */
    const struct client_identity *identity; /* https: sent if the receiver asks; may be NULL */
    int64_t timeout_ms;         /* for the whole exchange from sender_start on, including DNS */
    int64_t connect_timeout_ms; /* the part of it for name, connection and TLS */
    /* The body decides whether a 2xx is a success. If false, `done` comes at most
     * LIMIT_ATTEMPT_BODY_WAIT_MS after the headers of a 2xx. */
    bool wants_body;
    void (*done)(struct exchange *x);
    /* Asked right before the request is written, and before it is written again. False: it is not
     * written. Must not call the sender. NULL: it is written. */
    bool (*may_send)(struct exchange *x);

    /* results */
    enum attempt_class class;
    int status;                  /* final status, 0: none */
    char detail[256];            /* a sentence that a partner can act on; empty on success */
    int64_t retry_after_ms;      /* Retry-After (429, 503); -1: none */
    struct buf request_headers;  /* as sent, credentials masked; "Name: value\n" lines */
    struct buf response_headers; /* "Name: value\n" lines, at most LIMIT_ATTEMPT_HEADER_BYTES */
    struct buf response_body;    /* the first LIMIT_ATTEMPT_BODY_KEPT_BYTES */
    bool response_is_whole;      /* response_body is all of it: its end was received */
    int32_t duration_ms;
    bool reused_connection;
    bool is_withheld; /* may_send was false: no other result counts */
    /* Why no request could be sent, if that is a fault of this machine and says nothing about the
     * receiver. The class and the detail are set, too. */
    enum local_fault local_fault;
    int64_t certificate_expires_ms; /* the receiver's, wall clock; 0: none seen */
    void *internal;                 /* internal */
};

void sender_start(struct sender *sender,
                  struct exchange *x); /* done is called later, never from here */
/* Writes the requests started in this tick, for a caller that starts exchanges at the end of a
 * tick; otherwise the next timers of the loop would. Calls no `done`. */
void sender_flush(struct sender *sender);
void sender_cancel(struct sender *sender, struct exchange *x); /* at once; done is not called */
void exchange_free_results(struct exchange *x);
/* Sets x->detail. The text may come from the network: anything but printable ASCII becomes a
 * question mark, and a long text is cut. */
void exchange_set_detail(struct exchange *x, struct str sentence);

struct sender_numbers {
    int64_t connections, idle_connections, opened, reused, dns_queries;
};
void sender_get_numbers(const struct sender *sender, struct sender_numbers *ret);
