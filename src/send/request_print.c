/* Prints requests: see request_print.h. */
#include "send/request_print.h"

#include <openssl/evp.h>

/* Whole header lines, as sent and as the log has them: "Name: value\r\n", "Name: value\n". */
struct header_lines {
    struct str sent, in_log; /* in_log absent: made from the former */
};

/* How the header is printed; `once` as in struct h2_header. */
struct header_printer {
    void (*lines)(void *to, struct header_lines lines, bool once);
    void (*credentials)(void *to, struct str userinfo);
    void (*length)(void *to, size_t bytes);
};

#define TYPE_AND_ENCODING(type, line_end)                                                          \
    STR("Content-Type: " type line_end "Accept-Encoding: identity" line_end)

static const struct header_lines type_lines[] = {
    [REQUEST_JSON] = {.sent = TYPE_AND_ENCODING(CONTENT_TYPE_JSON, "\r\n"),
                      .in_log = TYPE_AND_ENCODING(CONTENT_TYPE_JSON, "\n")},
    [REQUEST_FORM] = {.sent = TYPE_AND_ENCODING(CONTENT_TYPE_FORM, "\r\n"),
                      .in_log = TYPE_AND_ENCODING(CONTENT_TYPE_FORM, "\n")},
    [REQUEST_GET] = {.sent = STR("Accept-Encoding: identity\r\n"),
                     .in_log = STR("Accept-Encoding: identity\n")},
};

void request_fixed_make(struct request_fixed *ret, const struct url *url, const char *user_agent)
{
    struct buf *to = &ret->lines;
    buf_add_c(to, "Host: ");
    url_print_host(to, url);
    if (url->port != (url->https ? 443 : 80)) {
        buf_add_char(to, ':');
        buf_add_int(to, url->port);
    }
    buf_add_c(to, "\r\nUser-Agent: ");
    buf_add_c(to, user_agent);
    buf_add_c(to, "\r\n");
    request_print_lines(&ret->in_log, buf_str(to));
}

void request_fixed_free(struct request_fixed *fixed)
{
    buf_free(&fixed->lines);
    buf_free(&fixed->in_log);
}

/* EVP_EncodeBlock writes a NUL after the text, which the reserve includes. */
void request_print_basic(struct buf *to, struct str userinfo)
{
    buf_add_c(to, "Basic ");
    char *at = buf_reserve(to, (userinfo.n + 2) / 3 * 4 + 1);
    int n =
        EVP_EncodeBlock((unsigned char *)at, (const unsigned char *)userinfo.p, (int)userinfo.n);
    ASSERT(n >= 0);
    to->n += (size_t)n;
}

/* What each request's header has, in order. Inline, so that each printer's calls are, too. */
static inline __attribute__((always_inline)) void print_header(void *to,
                                                               const struct header_printer *printer,
                                                               const struct request_fixed *fixed,
                                                               const struct exchange *x)
{
    struct header_lines first = {buf_str(&fixed->lines), buf_str(&fixed->in_log)};
    printer->lines(to, first, false);
    printer->lines(to, type_lines[x->format], false);
    if (x->url->userinfo.p)
        printer->credentials(to, x->url->userinfo);
    printer->lines(to, (struct header_lines){x->headers, STR_NONE}, true);
    if (x->format != REQUEST_GET)
        printer->length(to, x->body.n);
}

/* --- HTTP/1.1 --------------------------------------------------------------------------------- */

static void http1_lines(void *to, struct header_lines lines, bool once)
{
    (void)once;
    buf_add_str(to, lines.sent);
}

static void http1_credentials(void *to, struct str userinfo)
{
    buf_add_c(to, "Authorization: ");
    request_print_basic(to, userinfo);
    buf_add_c(to, "\r\n");
}

static void http1_length(void *to, size_t bytes)
{
    buf_add_c(to, "Content-Length: ");
    buf_add_int(to, (int64_t)bytes);
    buf_add_c(to, "\r\n");
}

void request_print(struct buf *to, const struct request_fixed *fixed, const struct exchange *x)
{
    static const struct header_printer http1 = {http1_lines, http1_credentials, http1_length};
    buf_reserve(to, x->url->target.n + fixed->lines.n + x->headers.n + x->body.n + 192);
    buf_add_c(to, request_format_method(x->format));
    buf_add_char(to, ' ');
    buf_add_str(to, x->url->target);
    buf_add_c(to, " HTTP/1.1\r\n");
    print_header(to, &http1, fixed, x);
    buf_add_c(to, "\r\n");
    buf_add_str(to, x->body);
}

/* --- HTTP/2 ----------------------------------------------------------------------------------- */

struct h2_list {
    struct h2_header *headers;
    size_t count;
    struct buf *scratch; /* large enough, so that nothing in it moves */
};

static void list_add(struct h2_list *list, struct str name, struct str value, bool once)
{
    ASSERT(list->count < REQUEST_H2_HEADERS);
    list->headers[list->count++] = (struct h2_header){name, value, once};
}

static struct str add_lower(struct buf *to, struct str name)
{
    struct str lower = {to->p + to->n, name.n};
    for (size_t i = 0; i < name.n; i++)
        to->p[to->n++] = char_lower(name.p[i]);
    return lower;
}

/* Names become lower case, and Host becomes :authority. */
static void http2_lines(void *to, struct header_lines lines, bool once)
{
    struct h2_list *list = to;
    struct str rest = lines.sent;
    while (rest.p && rest.n > 0) {
        struct str value = str_cut(&rest, '\n');
        struct str name = str_cut(&value, ':');
        if (!value.p)
            continue;
        if (value.n > 0 && value.p[value.n - 1] == '\r')
            value.n--;
        value = str_trim(value);
        struct str lower = add_lower(list->scratch, name);
        if (str_eq(lower, STR("host")))
            list->headers[2].value = value;
        else
            list_add(list, lower, value, once);
    }
}

/* What was printed into the scratch from `begin` on. */
static struct str printed(const struct h2_list *list, size_t begin)
{
    return (struct str){list->scratch->p + begin, list->scratch->n - begin};
}

static void http2_credentials(void *to, struct str userinfo)
{
    struct h2_list *list = to;
    size_t begin = list->scratch->n;
    request_print_basic(list->scratch, userinfo);
    list_add(list, STR("authorization"), printed(list, begin), true);
}

static void http2_length(void *to, size_t bytes)
{
    struct h2_list *list = to;
    size_t begin = list->scratch->n;
    buf_add_int(list->scratch, (int64_t)bytes);
    list_add(list, STR("content-length"), printed(list, begin), false);
}

size_t request_list_h2(struct h2_header ret[REQUEST_H2_HEADERS], struct buf *scratch,
                       const struct request_fixed *fixed, const struct exchange *x)
{
    static const struct header_printer http2 = {http2_lines, http2_credentials, http2_length};
    struct h2_list list = {.headers = ret, .scratch = scratch};
    buf_clear(scratch);
    const char *room =
        buf_reserve(scratch, fixed->lines.n + x->headers.n + x->url->userinfo.n * 2 + 192);
    list_add(&list, STR(":method"), str_of(request_format_method(x->format)), false);
    list_add(&list, STR(":scheme"), x->url->https ? STR("https") : STR("http"), false);
    list_add(&list, STR(":authority"), STR(""), false);
    list_add(&list, STR(":path"), x->url->target, false);
    print_header(&list, &http2, fixed, x);
    ASSERT(scratch->p == room);
    return list.count;
}

/* --- the log ---------------------------------------------------------------------------------- */

void request_print_lines(struct buf *to, struct str lines)
{
    char *at = buf_reserve(to, lines.n);
    while (lines.n > 0) {
        const char *end = memchr(lines.p, '\r', lines.n);
        size_t n = end ? (size_t)(end - lines.p) : lines.n;
        memcpy(at, lines.p, n);
        at += n;
        n += end != NULL;
        lines = (struct str){lines.p + n, lines.n - n};
    }
    to->n = (size_t)(at - to->p);
}

static void log_lines(void *to, struct header_lines lines, bool once)
{
    (void)once;
    if (lines.in_log.p)
        buf_add_str(to, lines.in_log);
    else
        request_print_lines(to, lines.sent);
}

static void log_credentials(void *to, struct str userinfo)
{
    (void)userinfo;
    buf_add_c(to, "Authorization: Basic ***\n");
}

static void log_length(void *to, size_t bytes)
{
    buf_add_c(to, "Content-Length: ");
    buf_add_int(to, (int64_t)bytes);
    buf_add_char(to, '\n');
}

void request_print_log(struct buf *to, const struct request_fixed *fixed, const struct exchange *x)
{
    static const struct header_printer log = {log_lines, log_credentials, log_length};
    buf_reserve(to, fixed->in_log.n + x->headers.n + 192);
    print_header(to, &log, fixed, x);
}

enum request_format request_format_of_log(struct str lines)
{
    static const char name[] = "Content-Type";
    while (lines.p) {
        struct str value = str_cut(&lines, '\n');
        if (!str_is(str_cut(&value, ':'), name) || !value.p)
            continue;
        bool is_form = str_is(str_trim(value), request_format_content_type(REQUEST_FORM));
        return is_form ? REQUEST_FORM : REQUEST_JSON;
    }
    return REQUEST_GET;
}
