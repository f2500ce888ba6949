/* Who the client is when proxies stand in front, and whether its request was encrypted (the nearest
 * proxy's X-Forwarded-Proto). X-Forwarded-For grows to the right, each proxy adding whom it saw; so
 * what is read from the right is true up to the first address that is not a trusted proxy's, and
 * that one is the client. All left of it is the client's own claim. */
#include "http/conn.h"

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

/* Cuts the part behind the last comma off *rest; absent *rest: there was none left. */
static struct str cut_last(struct str *rest)
{
    const char *comma = rest->n ? memrchr(rest->p, ',', rest->n) : NULL;
    struct str last = *rest;
    if (comma) {
        rest->n = (size_t)(comma - rest->p);
        last = (struct str){comma + 1, last.n - rest->n - 1};
    } else {
        *rest = STR_NONE;
    }
    return str_trim(last);
}

/* One field's elements from the right; false: the client is found, or what comes is no address. */
static bool walk(struct http_request *r, struct str rest, const struct cidr *trusted, size_t count)
{
    while (rest.p) {
        struct address a;
        if (!parse_element(cut_last(&rest), &a))
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
    /* The nearest proxy's word, the last one, is the only one that is known to be true. */
    for (size_t i = r->header_count; i > 0; i--) {
        const struct http_header *h = &r->headers[i - 1];
        if (!str_is(h->name, "x-forwarded-proto"))
            continue;
        struct str rest = h->value;
        r->secure = str_eq_nocase(cut_last(&rest), "https");
        return;
    }
}
