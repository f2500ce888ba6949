/* IP addresses and ranges of them: strict texts, and which addresses are public. */
#pragma once

#include "base/buf.h"
#include "base/check.h"

#include <netinet/in.h>

/* An IP address. An IPv4 address is in bytes 0..3, in network order. */
struct address {
    int family; /* AF_INET or AF_INET6 */
    uint8_t bytes[16];
};

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
