/* llhttp's callbacks collect spans. A head is given in one piece, so spans come whole or in
 * adjoining pieces. Body framing is not left to llhttp: it stops at the end of the head, and
 * http/head.c judges Content-Length and Transfer-Encoding by one rule on every llhttp version. */
#include "http/grammar.h"

#include "base/alloc.h"
#include "base/limits.h"

#include <llhttp.h>

struct collector {
    llhttp_t parser; /* first: the callbacks get a pointer to it */
    struct grammar_lines *to;
    bool complete, too_many, value_next;
};

static struct collector *collector_of(llhttp_t *parser)
{
    return (struct collector *)(void *)parser;
}

static void extend(struct str *s, const char *p, size_t n)
{
    if (s->p && s->p + s->n == p)
        s->n += n;
    else
        *s = (struct str){p, n};
}

static int on_url(llhttp_t *parser, const char *p, size_t n)
{
    extend(&collector_of(parser)->to->target, p, n);
    return 0;
}

static int on_field(llhttp_t *parser, const char *p, size_t n)
{
    struct collector *c = collector_of(parser);
    struct grammar_lines *to = c->to;
    if (to->header_count == 0 || c->value_next) {
        if (to->header_count == LIMIT_HEADERS) {
            c->too_many = true;
            return -1;
        }
        to->headers =
            xgrow(to->headers, &to->header_capacity, to->header_count + 1, sizeof *to->headers);
        to->headers[to->header_count++] = (struct http_header){STR_NONE, STR("")};
        c->value_next = false;
    }
    extend(&to->headers[to->header_count - 1].name, p, n);
    return 0;
}

static int on_value(llhttp_t *parser, const char *p, size_t n)
{
    struct collector *c = collector_of(parser);
    c->value_next = true;
    extend(&c->to->headers[c->to->header_count - 1].value, p, n);
    return 0;
}

static int on_head_complete(llhttp_t *parser)
{
    collector_of(parser)->complete = true;
    return HPE_PAUSED;
}

static enum grammar_result failure(const struct collector *c, const char **ret_reason)
{
    llhttp_errno_t error = llhttp_get_errno(&c->parser);
    *ret_reason = "it is not a well-formed HTTP request";
    if (c->too_many)
        return GRAMMAR_TOO_MANY_HEADERS;
    if (error == HPE_INVALID_METHOD)
        return GRAMMAR_UNKNOWN_METHOD;
    if (error == HPE_INVALID_VERSION || error == HPE_PAUSED_H2_UPGRADE)
        return GRAMMAR_VERSION;
    if (error == HPE_INVALID_URL)
        *ret_reason = "the request target has characters that are not allowed";
    else if (error == HPE_INVALID_HEADER_TOKEN)
        *ret_reason = "a header field has characters that are not allowed";
    else if (error == HPE_INVALID_CONTENT_LENGTH || error == HPE_UNEXPECTED_CONTENT_LENGTH)
        *ret_reason = "Content-Length is invalid or given with another framing";
    return GRAMMAR_MALFORMED;
}

/* The spans are const for llhttp; they point into the caller's own buffer. */
static void lower_name(char *base, const char *p, struct str name)
{
    char *at = base + (name.p - p);
    for (size_t i = 0; i < name.n; i++)
        at[i] = char_lower(at[i]);
}

bool grammar_knows_method(struct str text)
{
#define METHOD_NAME(number, name, string) #string,
    static const char *const names[] = {HTTP_METHOD_MAP(METHOD_NAME)};
#undef METHOD_NAME
    return str_index_of(text, names, ARRAY_LEN(names)) < ARRAY_LEN(names);
}

enum grammar_result grammar_parse(char *p, size_t n, struct grammar_lines *to,
                                  const char **ret_reason)
{
    static const llhttp_settings_t settings = {
        .on_url = on_url,
        .on_header_field = on_field,
        .on_header_value = on_value,
        .on_headers_complete = on_head_complete,
    };
    struct collector c = {.to = to};
    llhttp_init(&c.parser, HTTP_REQUEST, &settings);
    to->target = STR_NONE;
    to->header_count = 0;
    const char *space = memchr(p, ' ', n);
    to->method = (struct str){p, space ? (size_t)(space - p) : 0};
    (void)llhttp_execute(&c.parser, p, n);
    if (!c.complete)
        return failure(&c, ret_reason);
    to->major = c.parser.http_major;
    to->minor = c.parser.http_minor;
    for (size_t i = 0; i < to->header_count; i++) {
        struct http_header *h = &to->headers[i];
        h->value = str_trim(h->value);
        lower_name(p, p, h->name);
    }
    return GRAMMAR_OK;
}
