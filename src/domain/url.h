/* Callback URLs: what may be configured, and its parts. RFC 3986, http and https only. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"

#include <netinet/in.h>

/* An IP address. family AF_INET: v4 in network order in bytes 0..3. */
struct address {
    int family; /* AF_INET or AF_INET6 */
    uint8_t bytes[16];
};

struct url {
    bool https;
    struct str host; /* without brackets; lower case */
    bool host_is_ipv6;
    bool host_is_address; /* dotted quad or IPv6 literal: `address` */
    struct address address;
    uint16_t port;
    struct str target;   /* path and query as given; "/" where empty */
    struct str userinfo; /* percent-decoded "user:password", absent when none */
};

/* Copies into the arena. On failure *ret_why says what and how to mend it: scheme, length over
 * 2,048 bytes, fragment, control characters or spaces, an IPv4 in another spelling, a bad port. */
MUST_CHECK bool url_parse(struct arena *arena, struct str text, struct url *ret_url,
                          const char **ret_why);
void url_print_destination(struct buf *to, const struct url *url); /* scheme://host:port */
/* The URL with userinfo as "***:***@"; for logs and answers. */
#define URL_MASK "***:***"
void url_print_masked(struct buf *to, struct str text);
/* The same, printed into the caller's empty buffer only where there is anything to mask. */
struct str url_masked(struct str text, struct buf *room);
/* Whether a masked URL was sent back: the mask stands for a password and is never one itself. */
bool url_is_masked(const struct url *url);
#define URL_MASKED_WHY "\"" URL_MASK "\" hides a user and a password; give them in full"
/* Any text, such as header lines, with every userinfo that stands in it masked like that: what
 * comes between "//" and an "@" of the same authority. Rather too much is masked than too little.
 */
void url_print_text_masked(struct buf *to, struct str text);

struct cidr {
    struct address address;
    int bits;
};
MUST_CHECK bool address_parse(struct str text, struct address *ret); /* strict spellings only */
void address_print(struct buf *to, const struct address *a);
MUST_CHECK bool cidr_parse(struct str text, struct cidr *ret);
bool cidr_covers(const struct cidr *c, const struct address *a);
/* A socket of both families says of an IPv4 peer ::ffff:192.0.2.1 (RFC 4291, 2.5.5.2), and so do
 * proxies that listen on one: it becomes 192.0.2.1. */
void address_unmap(struct address *a);
/* The bytes that one client cannot choose freely: an IPv4 address, or of an IPv6 one the /48 that a
 * site is given at most (RFC 6177), with 65,536 networks in it. */
struct str address_site(const struct address *a);
/* The IPv4 address that packets to this IPv6 one end at: mapped, NAT64 or 6to4. False: none. */
bool address_embedded_v4(const struct address *a, struct address *ret);
/* Whether the address is public: not loopback, private, link-local, metadata, multicast,
 * documentation, reserved, unique-local, nor a v4 of those kinds mapped, translated (NAT64,
 * 6to4) or embedded in v6. IANA special-purpose registries (RFC 6890 and its updates). */
bool address_is_public(const struct address *a);
