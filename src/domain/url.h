/* Callback URLs: which may be configured, and their parts. RFC 3986, http and https only. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"

#include <netinet/in.h>

/* An IP address. An IPv4 address is in bytes 0..3, in network order. */
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
    struct str target;   /* path and query as given; "/" if empty */
    struct str userinfo; /* percent-decoded "user:password"; absent if there is none */
};

/* Copies into the arena. On failure *ret_why says what is wrong and how to fix it: the scheme, more
 * than 2,048 bytes, a fragment, control characters or spaces, another spelling of an IPv4 address,
 * a bad port. */
MUST_CHECK bool url_parse(struct arena *arena, struct str text, struct url *ret_url,
                          const char **ret_why);
void url_print_destination(struct buf *to, const struct url *url); /* scheme://host:port */
/* The URL with userinfo as "***:***@"; for logs and answers. */
#define URL_MASK "***:***"
void url_print_masked(struct buf *to, struct str text);
/* The same, printed into the caller's empty buffer only if something must be masked. */
struct str url_masked(struct str text, struct buf *room);
/* True if the URL is a masked one that was sent back: the mask is never a password. */
bool url_is_masked(const struct url *url);
#define URL_MASKED_WHY "\"" URL_MASK "\" hides a user and a password; give them in full"
/* Masks every userinfo in any text, such as header lines: everything between "//" and an "@" of the
 * same authority. In doubt it masks too much. */
void url_print_text_masked(struct buf *to, struct str text);

struct cidr {
    struct address address;
    int bits;
};
MUST_CHECK bool address_parse(struct str text, struct address *ret); /* strict spellings only */
void address_print(struct buf *to, const struct address *a);
MUST_CHECK bool cidr_parse(struct str text, struct cidr *ret);
bool cidr_covers(const struct cidr *c, const struct address *a);
/* A dual-stack socket shows an IPv4 peer as ::ffff:192.0.2.1 (RFC 4291, 2.5.5.2), and so do proxies
 * behind one: this makes it 192.0.2.1. */
void address_unmap(struct address *a);
/* The bytes that one client cannot choose freely: an IPv4 address, or the /48 of an IPv6 address,
 * the most that a site gets (RFC 6177), with 65,536 networks in it. */
struct str address_site(const struct address *a);
/* The IPv4 address that packets to this IPv6 address go to: mapped, NAT64 or 6to4. False: none. */
bool address_embedded_v4(const struct address *a, struct address *ret);
/* True if the address is public: not loopback, private, link-local, metadata, multicast,
 * documentation, reserved or unique-local, nor such an IPv4 address mapped, translated (NAT64,
 * 6to4) or embedded in IPv6. IANA special-purpose registries (RFC 6890 and its updates). */
bool address_is_public(const struct address *a);
