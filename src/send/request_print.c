/* Prints requests: see request_print.h. */
#include "send/request_print.h"

#include <openssl/evp.h>

/* The last of the fixed lines. */
#define TYPE_LINE "Content-Type: application/json"
#define ACCEPT_LINE "Accept-Encoding: identity"

void request_print_fixed(struct buf *to, const struct url *url, const char *user_agent)
{
    buf_add_c(to, "Host: ");
    if (url->host_is_ipv6)
        buf_add_char(to, '[');
    buf_add_str(to, url->host);
    if (url->host_is_ipv6)
        buf_add_char(to, ']');
    if (url->port != (url->https ? 443 : 80)) {
        buf_add_char(to, ':');
        buf_add_int(to, url->port);
    }
    buf_add_c(to, "\r\nUser-Agent: ");
    buf_add_c(to, user_agent);
    buf_add_c(to, "\r\n" TYPE_LINE "\r\n" ACCEPT_LINE "\r\n");
}

/* Without the last two lines: Content-Type depends on the format. */
static struct str fixed_before_type(struct str fixed, size_t line_end_n)
{
    fixed.n -= sizeof TYPE_LINE - 1 + sizeof ACCEPT_LINE - 1 + 2 * line_end_n;
    return fixed;
}

static void add_fixed(struct buf *to, struct str fixed, const char *line_end,
                      const struct exchange *x)
{
    if (x->format == REQUEST_JSON) {
        buf_add_str(to, fixed);
        return;
    }
    buf_add_str(to, fixed_before_type(fixed, strlen(line_end)));
    if (x->format == REQUEST_FORM)
        buf_printf(to, "Content-Type: %s%s", request_format_content_type(x->format), line_end);
    buf_printf(to, ACCEPT_LINE "%s", line_end);
}

/* EVP_EncodeBlock writes a NUL after the text, which the reserve includes. */
void request_print_basic(struct buf *to, const char *name, struct str userinfo)
{
    buf_add_c(to, name);
    buf_add_c(to, ": Basic ");
    char *at = buf_reserve(to, (userinfo.n + 2) / 3 * 4 + 1);
    int n =
        EVP_EncodeBlock((unsigned char *)at, (const unsigned char *)userinfo.p, (int)userinfo.n);
    ASSERT(n >= 0);
    to->n += (size_t)n;
    buf_add_c(to, "\r\n");
}

void request_print(struct buf *to, struct str fixed, const struct exchange *x)
{
    buf_reserve(to, x->url->target.n + fixed.n + x->headers.n + x->body.n + 64);
    buf_add_c(to, request_format_method(x->format));
    buf_add_char(to, ' ');
    buf_add_str(to, x->url->target);
    buf_add_c(to, " HTTP/1.1\r\n");
    add_fixed(to, fixed, "\r\n", x);
    if (x->url->userinfo.p)
        request_print_basic(to, "Authorization", x->url->userinfo);
    buf_add_str(to, x->headers);
    if (x->format != REQUEST_GET) {
        buf_add_c(to, "Content-Length: ");
        buf_add_int(to, (int64_t)x->body.n);
        buf_add_c(to, "\r\n");
    }
    buf_add_c(to, "\r\n");
    buf_add_str(to, x->body);
}

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

/* Takes "Name: value\r\n" lines; names become lower case, and Host becomes :authority. */
static void list_add_lines(struct h2_list *list, struct str lines, bool once)
{
    ASSERT(list->scratch->p);
    while (lines.p && lines.n > 0) {
        struct str value = str_cut(&lines, '\n');
        struct str name = str_cut(&value, ':');
        if (!value.p)
            continue;
        if (value.n > 0 && value.p[value.n - 1] == '\r')
            value.n--;
        value = str_trim(value);
        struct str lower = {list->scratch->p + list->scratch->n, name.n};
        for (size_t i = 0; i < name.n; i++) {
            char c = name.p[i];
            list->scratch->p[list->scratch->n++] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
        }
        if (str_eq(lower, STR("host")))
            list->headers[2].value = value;
        else
            list_add(list, lower, value, once);
    }
}

size_t request_list_h2(struct h2_header ret[REQUEST_H2_HEADERS], struct buf *scratch,
                       struct str fixed, const struct exchange *x)
{
    struct h2_list list = {.headers = ret, .scratch = scratch};
    struct str basic = {0};
    buf_clear(scratch);
    buf_reserve(scratch, fixed.n + x->headers.n + x->url->userinfo.n * 2 + 128);
    list_add(&list, STR(":method"), str_of(request_format_method(x->format)), false);
    list_add(&list, STR(":scheme"), x->url->https ? STR("https") : STR("http"), false);
    list_add(&list, STR(":authority"), STR(""), false);
    list_add(&list, STR(":path"), x->url->target, false);
    if (x->url->userinfo.p) {
        request_print_basic(scratch, "", x->url->userinfo);
        basic = (struct str){scratch->p + 2, scratch->n - 4}; /* ": Basic ...\r\n" */
    }
    bool is_json = x->format == REQUEST_JSON;
    list_add_lines(&list, is_json ? fixed : fixed_before_type(fixed, 2), false);
    if (x->format == REQUEST_FORM)
        list_add(&list, STR("content-type"), str_of(request_format_content_type(x->format)), false);
    if (!is_json)
        list_add(&list, STR("accept-encoding"), STR("identity"), false);
    if (basic.p)
        list_add(&list, STR("authorization"), basic, true);
    list_add_lines(&list, x->headers, true);
    struct str length = {scratch->p + scratch->n, 0};
    buf_add_int(scratch, (int64_t)x->body.n);
    length.n = (size_t)(scratch->p + scratch->n - length.p);
    if (x->format != REQUEST_GET)
        list_add(&list, STR("content-length"), length, false);
    return list.count;
}

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

void request_print_log(struct buf *to, struct str fixed_lines, const struct exchange *x)
{
    buf_reserve(to, fixed_lines.n + x->headers.n + 64);
    add_fixed(to, fixed_lines, "\n", x);
    if (x->url->userinfo.p)
        buf_add_c(to, "Authorization: Basic ***\n");
    request_print_lines(to, x->headers);
    if (x->format == REQUEST_GET)
        return;
    buf_add_c(to, "Content-Length: ");
    buf_add_int(to, (int64_t)x->body.n);
    buf_add_char(to, '\n');
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
