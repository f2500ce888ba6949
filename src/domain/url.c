/* Callback URLs.
 *
 * Only this file parses a URL, and once, so that what was checked is what is connected to. It is
 * strict where parsers are known to differ (RFC 3986 and browsers): userinfo, numeric hosts,
 * percent signs in hosts, bytes beyond ASCII. */
#include "domain/url.h"

#include "base/limits.h"

#define HOST_BYTES_MAX 253
#define LABEL_BYTES_MAX 63

struct parts {
    bool https;
    struct str userinfo, host, port, target; /* userinfo and port may be absent */
};

static bool fail(const char **ret_why, const char *why)
{
    *ret_why = why;
    return false;
}

static bool check_bytes(struct str text, const char **ret_why)
{
    if (text.n > LIMIT_URL_BYTES)
        return fail(ret_why, "a URL has at most 2,048 bytes");
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c <= ' ' || c == 0x7f)
            return fail(ret_why, "a URL has no spaces and no control characters; write %20");
        if (c >= 0x80)
            return fail(ret_why, "a URL is ASCII: percent-encode the path, write the host as xn--");
        if (c == '#')
            return fail(ret_why, "a URL here has no fragment (#...): it would never be sent");
    }
    return true;
}

/* scheme "://" [ userinfo "@" ] host [ ":" port ] target */
static bool split(struct str text, struct parts *ret, const char **ret_why)
{
    struct parts p = {0};
    size_t at;
    if (text.n >= 8 && str_eq_nocase((struct str){text.p, 8}, "https://")) {
        p.https = true;
        at = 8;
    } else if (text.n >= 7 && str_eq_nocase((struct str){text.p, 7}, "http://")) {
        at = 7;
    } else {
        return fail(ret_why, "a URL begins with https:// or http://");
    }
    size_t end = at;
    while (end < text.n && text.p[end] != '/' && text.p[end] != '?')
        end++;
    struct str authority = {text.p + at, end - at};
    p.target = (struct str){text.p + end, text.n - end};

    const char *sign = authority.n ? memchr(authority.p, '@', authority.n) : NULL;
    if (sign) {
        p.userinfo = str_cut(&authority, '@');
        if (memchr(authority.p, '@', authority.n))
            return fail(ret_why,
                        "a URL has at most one @ before the host; write %40 in a password");
    }
    size_t host_n = 0;
    if (authority.n && authority.p[0] == '[') {
        const char *close = memchr(authority.p, ']', authority.n);
        if (!close)
            return fail(ret_why, "an IPv6 address in a URL ends with ]");
        host_n = (size_t)(close - authority.p) + 1;
    } else {
        while (host_n < authority.n && authority.p[host_n] != ':')
            host_n++;
    }
    p.host = (struct str){authority.p, host_n};
    if (host_n < authority.n) {
        if (authority.p[host_n] != ':')
            return fail(ret_why, "after the host of a URL comes a port, a path or nothing");
        p.port = (struct str){authority.p + host_n + 1, authority.n - host_n - 1};
    }
    *ret = p;
    return true;
}

/* True if inet_aton or a browser would take it for an IPv4 address: the last label is a number. */
static bool ends_in_number(struct str host)
{
    size_t from = host.n;
    while (from > 0 && host.p[from - 1] != '.')
        from--;
    struct str label = {host.p + from, host.n - from};
    bool hex = label.n >= 2 && label.p[0] == '0' && char_lower(label.p[1]) == 'x';
    for (size_t i = hex ? 2 : 0; i < label.n; i++)
        if (hex ? hex_value(label.p[i]) < 0 : !char_is_digit(label.p[i]))
            return false;
    return label.n > 0;
}

static bool host_name_valid(struct str host)
{
    size_t label_n = 0;
    for (size_t i = 0; i < host.n; i++) {
        char c = host.p[i];
        if (c == '.') {
            if (label_n == 0)
                return false;
            label_n = 0;
        } else if (char_is_letter_or_digit(c) || c == '-' || c == '_') {
            if (++label_n > LABEL_BYTES_MAX)
                return false;
        } else {
            return false;
        }
    }
    return host.n > 0 && host.n <= HOST_BYTES_MAX && label_n > 0;
}

static struct str print_to_arena(struct arena *arena, const struct address *a)
{
    struct buf text = {0};
    address_print(&text, a);
    return arena_take(arena, &text);
}

static bool take_host(struct arena *arena, struct str host, struct url *url, const char **ret_why)
{
    if (host.n > 0 && host.p[0] == '[') {
        struct str inner = {host.p + 1, host.n - 2};
        if (!address_parse(inner, &url->address) || url->address.family != AF_INET6)
            return fail(ret_why,
                        "the text in [ ] is not an IPv6 address (zones are not supported)");
        url->host_is_ipv6 = url->host_is_address = true;
        url->host = print_to_arena(arena, &url->address); /* one spelling per destination */
        return true;
    }
    bool has_root_dot = host.n > 1 && host.p[host.n - 1] == '.';
    host.n -= has_root_dot; /* it means the same name; an address has none */
    if (!host_name_valid(host))
        return fail(ret_why, "the host of a URL is a name of letters, digits, - and _, or an "
                             "address; other alphabets are written as xn--");
    if (ends_in_number(host)) {
        if (has_root_dot || !address_parse(host, &url->address))
            return fail(ret_why, "an IPv4 address is written as four decimal numbers from 0 to "
                                 "255 without leading zeros, as in 198.51.100.7");
        url->host_is_address = true;
    }
    char *copy = arena_alloc(arena, host.n);
    for (size_t i = 0; i < host.n; i++)
        copy[i] = char_lower(host.p[i]);
    url->host = (struct str){copy, host.n};
    return true;
}

static bool take_port(struct str port, struct url *url, const char **ret_why)
{
    url->port = url->https ? 443 : 80;
    if (port.n == 0)
        return true; /* absent or empty: the scheme's default (RFC 3986, section 6.2.3) */
    uint64_t value;
    if (!str_parse_uint(port, UINT16_MAX, &value) || value == 0)
        return fail(ret_why, "the port of a URL is a number from 1 to 65535");
    url->port = (uint16_t)value;
    return true;
}

/* unreserved / sub-delims / ":" of RFC 3986, section 3.2.1, in addition to percent-encoding. */
static bool userinfo_char(char c)
{
    return char_is_letter_or_digit(c) || char_in(c, "-._~!$&'()*+,;=:");
}

static bool take_userinfo(struct arena *arena, struct str given, struct url *url,
                          const char **ret_why)
{
    if (!given.p)
        return true;
    char *to = arena_alloc(arena, given.n + 1);
    size_t n = 0;
    bool colon = false;
    while (given.n > 0) {
        char c = given.p[0];
        if (c == '%') {
            if (!str_take_percent(&given, &c))
                return fail(ret_why, "a % in the user or password of a URL is followed by two "
                                     "hexadecimal digits");
            /* RFC 7617, section 2: no control characters, no colon in the user. */
            if ((unsigned char)c < 0x20 || c == 0x7f || (c == ':' && !colon))
                return fail(ret_why, "the user of a URL has no colon, and neither user nor "
                                     "password has control characters");
        } else if (!userinfo_char(c)) {
            return fail(ret_why, "percent-encode special characters in the user and password");
        } else {
            colon |= c == ':';
            given = (struct str){given.p + 1, given.n - 1};
        }
        to[n++] = c;
    }
    if (n == 0 || to[0] == ':')
        return fail(ret_why, "there is an @ in the URL but no user before it");
    if (!colon)
        to[n++] = ':'; /* an empty password */
    url->userinfo = (struct str){to, n};
    return true;
}

static void take_target(struct arena *arena, struct str target, struct url *url)
{
    if (target.n > 0 && target.p[0] == '/') {
        url->target = arena_str(arena, target);
        return;
    }
    char *to = arena_alloc(arena, target.n + 1);
    to[0] = '/';
    if (target.n)
        memcpy(to + 1, target.p, target.n);
    url->target = (struct str){to, target.n + 1};
}

bool url_parse(struct arena *arena, struct str text, struct url *ret_url, const char **ret_why)
{
    struct parts parts;
    struct url url = {0};
    if (!text.p || text.n == 0)
        return fail(ret_why, "a URL begins with https:// or http://");
    if (!check_bytes(text, ret_why) || !split(text, &parts, ret_why))
        return false;
    url.https = parts.https;
    if (!take_userinfo(arena, parts.userinfo, &url, ret_why) ||
        !take_host(arena, parts.host, &url, ret_why) || !take_port(parts.port, &url, ret_why))
        return false;
    take_target(arena, parts.target, &url);
    *ret_url = url;
    return true;
}

void url_print_host(struct buf *to, const struct url *url)
{
    buf_printf(to, url->host_is_ipv6 ? "[%.*s]" : "%.*s", STR_ARG(url->host));
}

void url_print_destination(struct buf *to, const struct url *url)
{
    buf_add_c(to, url->https ? "https://" : "http://");
    url_print_host(to, url);
    buf_add_char(to, ':');
    buf_add_int(to, url->port);
}

void url_print_masked(struct buf *to, struct str text)
{
    static const char separator[] = "://";
    size_t from = str_has_prefix(text, "//") ? 2 : 0;
    buf_reserve(to, text.n);
    for (size_t i = 0; from == 0 && i + 3 <= text.n; i++)
        if (memcmp(text.p + i, separator, 3) == 0)
            from = i + 3;
    /* up to the last @ of the authority, because this also prints URLs that url_parse refuses */
    size_t end = from, sign = 0;
    for (; end < text.n && text.p[end] != '/' && text.p[end] != '?' && text.p[end] != '#'; end++)
        if (text.p[end] == '@')
            sign = end + 1;
    if (sign == 0) {
        buf_add_str(to, text);
        return;
    }
    buf_add(to, text.p, from);
    buf_add_c(to, URL_MASK "@");
    buf_add(to, text.p + sign, text.n - sign);
}

struct str url_masked(struct str text, struct buf *room)
{
    if (text.n == 0 || !memchr(text.p, '@', text.n))
        return text;
    url_print_masked(room, text);
    return buf_str(room);
}

bool url_is_masked_form_of(struct str given, struct str current)
{
    struct buf room = {0};
    bool same = current.p && str_eq(given, url_masked(current, &room));
    buf_free(&room);
    return same;
}

bool url_is_masked(const struct url *url)
{
    return str_is(url->userinfo, URL_MASK);
}

/* Characters that end an authority in a text; a comma or a semicolon may be part of a password. */
static bool ends_authority(char c)
{
    return c == '/' || c == '?' || c == '#' || c == '"' || c == '<' || c == '>' ||
           (unsigned char)c <= ' ';
}

void url_print_text_masked(struct buf *to, struct str text)
{
    size_t at = 0;
    buf_reserve(to, text.n);
    while (at < text.n) {
        size_t from = at;
        do
            from++;
        while (from < text.n && !(from >= 2 && text.p[from - 1] == '/' && text.p[from - 2] == '/'));
        buf_add(to, text.p + at, from - at);
        size_t end = from, sign = from;
        for (; end < text.n && !ends_authority(text.p[end]); end++)
            if (text.p[end] == '@')
                sign = end + 1;
        if (sign > from)
            buf_add_c(to, URL_MASK "@");
        buf_add(to, text.p + sign, end - sign);
        at = end;
    }
}
