/* Resolves names without blocking: c-ares on a loop, with a cache.
 *
 * It follows the system's configuration (/etc/hosts, resolv.conf, search domains), or asks one name
 * server that the operator has set. Answers are cached for their TTL, limited to 1 s .. 5 min;
 * failures for 5 s, silence of the name servers for 1 s. Concurrent look-ups of a name are one
 * look-up. Used on the loop's thread only. The answers are not trusted: the code that connects
 * checks the addresses. */
#pragma once

#include "base/limits.h"
#include "base/list.h"
#include "domain/address.h"
#include "net/loop.h"

struct dns;

enum dns_status {
    DNS_OK,
    DNS_NO_SUCH_NAME,  /* NXDOMAIN, or not a valid name */
    DNS_NO_ADDRESS,    /* the name exists, with neither A nor AAAA */
    DNS_NO_ANSWER,     /* no answer in time; the name servers answer other questions */
    DNS_SILENT,        /* the name servers that are asked answer nothing, or cannot be reached */
    DNS_SERVER_FAILED, /* SERVFAIL, REFUSED, an invalid answer */
};

/* One look-up; the caller's memory, valid until `done` or dns_cancel. */
struct dns_query {
    void (*done)(struct dns_query *query);
    enum dns_status status;
    size_t address_count; /* > 0 if DNS_OK; in the order to try them (RFC 6724) */
    struct address addresses[LIMIT_DNS_ADDRESSES];
    struct dns_name *name; /* the members from here on are internal */
    struct link link;
};

/* server: "addr[:port]", NULL: the system's. On failure NULL, and *ret_why is a literal. */
MUST_CHECK struct dns *dns_new(struct loop *loop, const char *server, const char **ret_why);
void dns_free(struct dns *dns); /* no query may be waiting */

/* True: the result is cached and filled in, and `done` is not called. False: `done` is called
 * later, never from here. */
MUST_CHECK bool dns_look_up(struct dns *dns, struct dns_query *query, struct str host);
void dns_cancel(struct dns *dns,
                struct dns_query *query); /* only between the result false and `done` */

/* True if the name servers have been asked since then, for long enough, and have answered no
 * question at all: then the name is not the reason. */
bool dns_is_silent(const struct dns *dns, int64_t since_mono_ms);

int64_t dns_queries(const struct dns *dns); /* look-ups made, without cache hits */
