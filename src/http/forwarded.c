/* Finds the client's address behind proxies, and whether its request was encrypted (the nearest
 * proxy's X-Forwarded-Proto).
 *
 * X-Forwarded-For grows to the right: each proxy adds the address that it saw. Read from the right,
 * it is true up to the first address that is not a trusted proxy's: that is the client. Everything
 * left of it is the client's own claim. */
#include "http/forwarded.h"

#include "net/socket.h"

bool forwarded_trusts(const struct cidr *trusted, size_t count, const struct address *a)
{
    for (size_t i = 0; i < count; i++) {
        if (cidr_covers(&trusted[i], a))
            return true;
    }
    return false;
}

/* "192.0.2.1", "192.0.2.1:4711", "2001:db8::1", "[2001:db8::1]:4711". */
static bool parse_element(struct str text, struct address *ret)
{
    struct endpoint e;
    if (address_parse(text, ret))
        return true;
    if (text.n > 2 && text.p[0] == '[' && text.p[text.n - 1] == ']')
        return address_parse((struct str){text.p + 1, text.n - 2}, ret);
    if (!endpoint_parse(text, &e))
        return false;
    *ret = e.address;
    return true;
}

/* Removes the last element from the list *rest; empty: there was none. Skips empty elements (RFC
 * 9110, 5.6.1.2). */
static struct str cut_last(struct str *rest)
{
    struct str last = STR_NONE;
    while (rest->n && !last.n) {
        const char *comma = memrchr(rest->p, ',', rest->n);
        last = *rest;
        rest->n = comma ? (size_t)(comma - rest->p) : 0;
        if (comma)
            last = (struct str){comma + 1, last.n - rest->n - 1};
        last = str_trim(last);
    }
    return last;
}

/* Reads one field's elements from the right. False: the client is found, or an element is no
 * address. */
static bool walk(struct http_request *r, struct str rest, const struct cidr *trusted, size_t count)
{
    for (struct str element; (element = cut_last(&rest)).n;) {
        struct address a;
        if (!parse_element(element, &a))
            return false;
        address_unmap(&a);
        r->peer = a;
        if (!forwarded_trusts(trusted, count, &a))
            return false;
    }
    return true;
}

void forwarded_resolve(struct http_request *r, const struct cidr *trusted, size_t trusted_count)
{
    if (!forwarded_trusts(trusted, trusted_count, &r->peer))
        return;
    bool more = true;
    for (size_t i = r->header_count; more && i > 0; i--) {
        const struct http_header *h = &r->headers[i - 1];
        if (str_is(h->name, "x-forwarded-for"))
            more = walk(r, h->value, trusted, trusted_count);
    }
    /* Only the last element of the last field, the nearest proxy's, is known to be true. If that
     * field is empty, an earlier field may be the client's own. */
    struct str protos = STR_NONE;
    for (size_t i = 0; i < r->header_count; i++) {
        if (str_is(r->headers[i].name, "x-forwarded-proto"))
            protos = r->headers[i].value;
    }
    struct str scheme = cut_last(&protos);
    if (scheme.n)
        r->secure = str_eq_nocase(scheme, "https");
}
