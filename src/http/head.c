/* Judges a head. It refuses as 400, and does not repair, everything in which a proxy in front and
 * this server could see two different requests. RFC 9112: 2.2 (bare CR, LF), 5.2 (folding), 6.1
 * (Transfer-Encoding beside Content-Length), 6.3 (differing Content-Length), 3.2 (Host). */
#include "http/head.h"

#include "base/limits.h"

#include <stdlib.h>

static bool refuse(struct head_refusal *ret, int status, const char *detail)
{
    *ret = (struct head_refusal){status, detail};
    return false;
}

/* Checks the line p[from..to), without its CR LF. */
static bool line_good(const char *p, size_t from, size_t to, size_t line, struct head_refusal *ret)
{
    if (line == 0 && to - from > LIMIT_TARGET_BYTES + 64)
        return refuse(ret, 414, TOO_LONG_TARGET);
    if (line > 0 && to > from && (p[from] == ' ' || p[from] == '\t'))
        return refuse(ret, 400, "a header field is folded over two lines");
    for (size_t i = from; i < to; i++) {
        unsigned char c = (unsigned char)p[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return refuse(ret, 400, "the head has a control character");
    }
    return true;
}

enum head_scan_result head_scan(struct head_scan *scan, const char *p, size_t n, size_t *ret_n,
                                struct head_refusal *ret_refusal)
{
    for (;;) {
        const char *lf = memchr(p + scan->seen, '\n', n - scan->seen);
        if (!lf)
            break;
        size_t at = (size_t)(lf - p);
        if (at == scan->line_from || p[at - 1] != '\r') {
            refuse(ret_refusal, 400, "a line does not end with CR LF");
            return HEAD_REFUSED;
        }
        if (!line_good(p, scan->line_from, at - 1, scan->lines, ret_refusal))
            return HEAD_REFUSED;
        bool empty = at - 1 == scan->line_from;
        scan->lines++;
        scan->seen = scan->line_from = at + 1;
        if (scan->seen > LIMIT_HEADER_BYTES)
            break;
        if (empty) {
            *ret_n = scan->seen;
            return HEAD_WHOLE;
        }
    }
    if (scan->seen <= LIMIT_HEADER_BYTES)
        scan->seen = n;
    if (scan->lines == 0 && n > LIMIT_TARGET_BYTES + 64) {
        refuse(ret_refusal, 414, TOO_LONG_TARGET);
        return HEAD_REFUSED;
    }
    if (scan->seen > LIMIT_HEADER_BYTES) {
        refuse(ret_refusal, 431, TOO_LONG_HEAD);
        return HEAD_REFUSED;
    }
    return HEAD_MORE;
}

static struct str header_of(const struct head *head, const char *lower_name)
{
    return http_headers_find(head->lines.headers, head->lines.header_count, lower_name);
}

static size_t header_count(const struct head *head, const char *lower_name)
{
    return http_headers_count(head->lines.headers, head->lines.header_count, lower_name);
}

/* RFC 9112, 3.2: origin form, absolute form (then path and query are those of the URI) and, for
 * OPTIONS, the asterisk. */
static bool parse_target(struct head *head, struct head_refusal *ret)
{
    struct str t = head->lines.target;
    if (t.n > LIMIT_TARGET_BYTES)
        return refuse(ret, 414, TOO_LONG_TARGET);
    for (size_t i = 0; i < t.n; i++) {
        if (t.p[i] <= 0x20 || t.p[i] >= 0x7f || t.p[i] == '#')
            return refuse(ret, 400, "the request target has characters that are not allowed");
    }
    if (str_is(t, "*") && head->method == HTTP_OPTIONS) {
        head->path = t;
        return true;
    }
    size_t scheme = str_has_prefix(t, "http://") ? 7 : str_has_prefix(t, "https://") ? 8 : 0;
    if (scheme) {
        size_t end = scheme;
        while (end < t.n && t.p[end] != '/' && t.p[end] != '?')
            end++;
        if (end == scheme)
            return refuse(ret, 400, "the request target has no host");
        t = (struct str){t.p + end, t.n - end};
    }
    head->path = str_cut(&t, '?');
    head->query = t;
    if (head->path.n == 0 && scheme)
        head->path = STR("/");
    if (head->path.n == 0 || head->path.p[0] != '/')
        return refuse(ret, 400, "the request target is not a path");
    return true;
}

static bool parse_content_length(struct head *head, struct head_refusal *ret)
{
    size_t count = header_count(head, "content-length");
    head->content_bytes = -1;
    if (count == 0)
        return true;
    if (count > 1)
        return refuse(ret, 400, "Content-Length is given more than once");
    struct str v = header_of(head, "content-length");
    uint64_t n;
    if (v.n > 18 || !str_parse_uint(v, INT64_MAX, &n))
        return refuse(ret, 400, "Content-Length is not a number");
    head->content_bytes = (int64_t)n;
    return true;
}

static bool parse_framing(struct head *head, struct head_refusal *ret)
{
    if (!parse_content_length(head, ret))
        return false;
    size_t codings = header_count(head, "transfer-encoding");
    head->chunked = codings > 0;
    if (codings == 0)
        return true;
    if (head->content_bytes >= 0)
        return refuse(ret, 400, "Transfer-Encoding and Content-Length are both given");
    if (head->http10)
        return refuse(ret, 400, "HTTP/1.0 has no Transfer-Encoding");
    if (codings > 1)
        return refuse(ret, 400, "Transfer-Encoding is given more than once");
    if (!str_eq_nocase(header_of(head, "transfer-encoding"), "chunked"))
        return refuse(ret, 501, "only the transfer coding chunked is supported");
    return true;
}

/* RFC 9110, 7.6.1: a list of tokens, possibly in several fields. */
static bool connection_says(const struct head *head, const char *token)
{
    for (size_t i = 0; i < head->lines.header_count; i++) {
        if (!str_is(head->lines.headers[i].name, "connection"))
            continue;
        struct str rest = head->lines.headers[i].value;
        while (rest.p) {
            if (str_eq_nocase(str_trim(str_cut(&rest, ',')), token))
                return true;
        }
    }
    return false;
}

/* RFC 9110, 5.6.2: tokens. llhttp can be built to accept more, and another reader takes a name with
 * a trailing blank for a different field. */
static bool names_good(const struct head *head, struct head_refusal *ret)
{
    for (size_t i = 0; i < head->lines.header_count; i++) {
        struct str name = head->lines.headers[i].name;
        for (size_t k = 0; k < name.n; k++) {
            if (!char_is_letter_or_digit(name.p[k]) && !char_in(name.p[k], "-_!#$%&'*+.^`|~"))
                return refuse(ret, 400, "the name of a header field is not a token");
        }
        if (name.n == 0)
            return refuse(ret, 400, "a header field has no name");
    }
    return true;
}

static bool parse_host(const struct head *head, struct head_refusal *ret)
{
    size_t count = header_count(head, "host");
    if (count > 1)
        return refuse(ret, 400, "Host is given more than once");
    if (count == 0)
        return head->http10 || refuse(ret, 400, "Host is missing");
    struct str host = header_of(head, "host");
    for (size_t i = 0; i < host.n; i++) {
        if (host.p[i] <= 0x20 || host.p[i] >= 0x7f || char_in(host.p[i], "/?#@\\,"))
            return refuse(ret, 400, "Host is not a host");
    }
    return true;
}

static bool parse_expect(struct head *head, struct head_refusal *ret)
{
    struct str expect = header_of(head, "expect");
    head->expects_continue = false;
    if (!expect.p || head->http10)
        return true;
    if (!str_eq_nocase(expect, "100-continue"))
        return refuse(ret, 417, "only the expectation 100-continue is supported");
    head->expects_continue = true;
    return true;
}

static bool refuse_grammar(enum grammar_result result, const char *reason, struct head_refusal *ret)
{
    switch (result) {
    case GRAMMAR_UNKNOWN_METHOD: return refuse(ret, 501, "the method is not known");
    case GRAMMAR_VERSION: return refuse(ret, 505, "only HTTP/1.1 and HTTP/1.0 are supported");
    case GRAMMAR_TOO_MANY_HEADERS: return refuse(ret, 431, TOO_MANY_FIELDS);
    default: return refuse(ret, 400, reason);
    }
}

bool head_parse(struct head *head, char *p, size_t n, struct head_refusal *ret_refusal)
{
    const char *reason = "";
    enum grammar_result result = grammar_parse(p, n, &head->lines, &reason);
    if (result != GRAMMAR_OK)
        return refuse_grammar(result, reason, ret_refusal);
    if (head->lines.major != 1 || head->lines.minor > 1)
        return refuse_grammar(GRAMMAR_VERSION, reason, ret_refusal);
    return head_judge(head, ret_refusal);
}

bool head_judge(struct head *head, struct head_refusal *ret_refusal)
{
    head->http10 = head->lines.minor == 0;
    head->method = http_method_parse(head->lines.method);
    if (!names_good(head, ret_refusal) || !parse_target(head, ret_refusal) ||
        !parse_framing(head, ret_refusal) || !parse_host(head, ret_refusal) ||
        !parse_expect(head, ret_refusal))
        return false;
    head->keep_alive = !head->http10 && !connection_says(head, "close");
    return true;
}

void head_free(struct head *head)
{
    free(head->lines.headers);
    *head = (struct head){0};
}
