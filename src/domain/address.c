/* Parses and prints IP addresses, and decides which are public.
 *
 * Partners choose callback URLs, and domain owners choose the addresses of names. So every address
 * that is not of the public Internet is refused, to keep the daemon from reaching the network it
 * runs in. For IPv6 the list says what is allowed: global unicast is 2000::/3, everything else is
 * special or reserved. */
#include "domain/address.h"

#include "base/bytes.h"

#include <arpa/inet.h>
#include <stdint.h>

struct v4_range {
    uint32_t base; /* host order */
    int bits;
};

struct v6_range {
    uint8_t base[16];
    int bits;
};

/* IANA IPv4 Special-Purpose Address Registry, multicast, and a metadata service with a public
 * address. Entries that are globally reachable (AS112, AMT) are not listed. */
static const struct v4_range v4_not_public[] = {
    {0x00000000, 8},  /* 0.0.0.0/8         this network, RFC 791 */
    {0x0a000000, 8},  /* 10.0.0.0/8        private, RFC 1918 */
    {0x64400000, 10}, /* 100.64.0.0/10     shared, RFC 6598; holds 100.100.100.200 (metadata) */
    {0x7f000000, 8},  /* 127.0.0.0/8       loopback, RFC 1122 */
    {0xa83f8110, 32}, /* 168.63.129.16     metadata and host services of a public cloud */
    {0xa9fe0000, 16}, /* 169.254.0.0/16    link-local, RFC 3927; holds 169.254.169.254 */
    {0xac100000, 12}, /* 172.16.0.0/12     private, RFC 1918 */
    {0xc0000000, 24}, /* 192.0.0.0/24      protocol assignments, RFC 6890 */
    {0xc0000200, 24}, /* 192.0.2.0/24      documentation, RFC 5737 */
    {0xc0586300, 24}, /* 192.88.99.0/24    6to4 relays, deprecated by RFC 7526 */
    {0xc0a80000, 16}, /* 192.168.0.0/16    private, RFC 1918 */
    {0xc6120000, 15}, /* 198.18.0.0/15     benchmarking, RFC 2544 */
    {0xc6336400, 24}, /* 198.51.100.0/24   documentation, RFC 5737 */
    {0xcb007100, 24}, /* 203.0.113.0/24    documentation, RFC 5737 */
    {0xe0000000, 4},  /* 224.0.0.0/4       multicast, RFC 5771 */
    {0xf0000000, 4},  /* 240.0.0.0/4       reserved and broadcast, RFC 1112 and 919 */
};

/* The parts of 2000::/3 that are not public. */
static const struct v6_range v6_not_public[] = {
    {{0x20, 0x01}, 23},             /* 2001::/23      protocol assignments, Teredo: RFC 2928 */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* 2001:db8::/32  documentation, RFC 3849 */
    {{0x3f, 0xff}, 20},             /* 3fff::/20      documentation, RFC 9637 */
};

static bool bits_equal(const uint8_t *a, const uint8_t *b, int bits)
{
    int whole = bits / 8, rest = bits % 8;
    if (whole && memcmp(a, b, (size_t)whole) != 0)
        return false;
    return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

static bool v4_is_public(const uint8_t bytes[4])
{
    uint32_t a = get_be32(bytes);
    for (size_t i = 0; i < ARRAY_LEN(v4_not_public); i++)
        if ((a ^ v4_not_public[i].base) >> (32 - v4_not_public[i].bits) == 0)
            return false;
    return true;
}

static bool is_mapped_v4(const struct address *a)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    return a->family == AF_INET6 && memcmp(a->bytes, prefix, sizeof prefix) == 0;
}

void address_unmap(struct address *a)
{
    struct address v4 = {.family = AF_INET};
    memcpy(v4.bytes, a->bytes + 12, 4);
    if (is_mapped_v4(a))
        *a = v4;
}

struct str address_site(const struct address *a)
{
    return (struct str){(const char *)a->bytes, a->family == AF_INET6 ? 6 : 4};
}

bool address_embedded_v4(const struct address *a, struct address *ret)
{
    static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b}; /* 64:ff9b::/96, RFC 6052 */
    static const uint8_t six_to_four[2] = {0x20, 0x02};        /* 2002::/16, RFC 3056 */
    size_t from;
    if (a->family != AF_INET6)
        return false;
    if (is_mapped_v4(a) || bits_equal(a->bytes, nat64, 96))
        from = 12;
    else if (bits_equal(a->bytes, six_to_four, 16))
        from = 2;
    else
        return false;
    *ret = (struct address){.family = AF_INET};
    memcpy(ret->bytes, a->bytes + from, 4);
    return true;
}

static bool v6_is_public(const struct address *a)
{
    struct address embedded;
    const uint8_t *bytes = a->bytes;
    if (address_embedded_v4(a, &embedded))
        return v4_is_public(embedded.bytes);
    if (bytes[0] >> 5 != 1) /* 2000::/3 */
        return false;
    for (size_t i = 0; i < ARRAY_LEN(v6_not_public); i++)
        if (bits_equal(bytes, v6_not_public[i].base, v6_not_public[i].bits))
            return false;
    return true;
}

bool address_is_public(const struct address *a)
{
    ASSERT(a->family == AF_INET || a->family == AF_INET6);
    return a->family == AF_INET ? v4_is_public(a->bytes) : v6_is_public(a);
}

/* Four decimal numbers without leading zeros: the other spellings of inet_aton (octal, hex, fewer
 * parts) mean different hosts to different programs. */
static bool parse_v4(struct str text, uint8_t ret_bytes[4])
{
    uint8_t bytes[4];
    size_t at = 0;
    for (int part = 0; part < 4; part++) {
        if (part > 0 && (at >= text.n || text.p[at++] != '.'))
            return false;
        size_t from = at;
        unsigned value = 0;
        while (at < text.n && at - from < 3 && char_is_digit(text.p[at]))
            value = value * 10 + (unsigned)(text.p[at++] - '0');
        if (at == from || value > 255 || (at - from > 1 && text.p[from] == '0'))
            return false;
        bytes[part] = (uint8_t)value;
    }
    if (at != text.n)
        return false;
    memcpy(ret_bytes, bytes, 4);
    return true;
}

bool address_parse(struct str text, struct address *ret)
{
    struct address a = {0};
    char terminated[INET6_ADDRSTRLEN];
    if (parse_v4(text, a.bytes)) {
        a.family = AF_INET;
    } else {
        if (text.n >= sizeof terminated || text.n == 0 || memchr(text.p, '\0', text.n))
            return false;
        memcpy(terminated, text.p, text.n);
        terminated[text.n] = '\0';
        if (inet_pton(AF_INET6, terminated, a.bytes) != 1)
            return false;
        a.family = AF_INET6;
    }
    *ret = a;
    return true;
}

void address_print(struct buf *to, const struct address *a)
{
    ASSERT(a->family == AF_INET || a->family == AF_INET6);
    char text[INET6_ADDRSTRLEN];
    ASSERT(inet_ntop(a->family, a->bytes, text, sizeof text) != NULL);
    buf_add_c(to, text);
}

bool cidr_parse(struct str text, struct cidr *ret)
{
    struct cidr c;
    struct str rest = text;
    struct str address = str_cut(&rest, '/');
    if (!address.p || !address_parse(address, &c.address))
        return false;
    int most = c.address.family == AF_INET ? 32 : 128;
    c.bits = most;
    if (rest.p) {
        uint64_t bits;
        if (!str_parse_uint(rest, (uint64_t)most, &bits) || (rest.n > 1 && rest.p[0] == '0'))
            return false;
        c.bits = (int)bits;
    }
    *ret = c;
    return true;
}

bool cidr_covers(const struct cidr *c, const struct address *a)
{
    if (c->address.family == a->family)
        return bits_equal(c->address.bytes, a->bytes, c->bits);
    /* the kernel takes ::ffff:127.0.0.1 for 127.0.0.1 */
    return c->address.family == AF_INET && is_mapped_v4(a) &&
           bits_equal(c->address.bytes, a->bytes + 12, c->bits);
}
