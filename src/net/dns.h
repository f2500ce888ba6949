/* Names to addresses without blocking: c-ares on a loop, with a cache.
 *
 * The system's configuration is honoured (/etc/hosts, resolv.conf, search domains), or one name
 * server given by the operator. Answers are kept for their time to live, cut to 1 s .. 5 min;
 * failures for 5 s. Look-ups of one name under way at the same time are one look-up. The loop's
 * thread only. What comes back is not trusted: whoever connects checks the address. */
#pragma once

#include "base/limits.h"
#include "base/list.h"
#include "domain/url.h"
#include "net/loop.h"

struct dns;

enum dns_status {
    DNS_OK,
    DNS_NO_SUCH_NAME,  /* NXDOMAIN, or not a name at all */
    DNS_NO_ADDRESS,    /* the name exists, with neither A nor AAAA */
    DNS_NO_ANSWER,     /* the name server said nothing in time, or cannot be reached */
    DNS_SERVER_FAILED, /* SERVFAIL, REFUSED, nonsense */
};

/* One asker's place; the caller's memory, valid until `done` or dns_cancel. */
struct dns_query {
    void (*done)(struct dns_query *query);
    enum dns_status status;
    size_t address_count; /* > 0 when DNS_OK; in the order to be tried (RFC 6724) */
    struct address addresses[LIMIT_DNS_ADDRESSES];
    struct dns_name *name; /* the rest is the resolver's */
    struct link link;
};

/* server: "addr[:port]", NULL: the system's. On failure NULL, and *ret_why is a literal. */
MUST_CHECK struct dns *dns_new(struct loop *loop, const char *server, const char **ret_why);
void dns_free(struct dns *dns); /* no query may be waiting */

/* True: known already, the results are filled and `done` will not be called. False: `done` is
 * called later, never from here. */
MUST_CHECK bool dns_look_up(struct dns *dns, struct dns_query *query, struct str host);
void dns_cancel(struct dns *dns, struct dns_query *query); /* only after false; before done */

int64_t dns_queries(const struct dns *dns); /* look-ups made, cache hits not counted */
