/* A request as bytes: see request.h. */
#include "send/request.h"

#include <openssl/evp.h>

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
    buf_add_c(to, "\r\nContent-Type: application/json\r\nAccept-Encoding: identity\r\n");
}

/* EVP_EncodeBlock writes a NUL behind the text; the reserve has room for it. */
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
    buf_add_c(to, "POST ");
    buf_add_str(to, x->url->target);
    buf_add_c(to, " HTTP/1.1\r\n");
    buf_add_str(to, fixed);
    if (x->url->userinfo.p)
        request_print_basic(to, "Authorization", x->url->userinfo);
    buf_add_str(to, x->headers);
    buf_add_c(to, "Content-Length: ");
    buf_add_int(to, (int64_t)x->body.n);
    buf_add_c(to, "\r\n\r\n");
    buf_add_str(to, x->body);
}

static void print_lines(struct buf *to, struct str lines)
{
    while (lines.p && lines.n > 0) {
        struct str line = str_cut(&lines, '\n');
        if (line.n > 0 && line.p[line.n - 1] == '\r')
            line.n--;
        buf_add_str(to, line);
        buf_add_char(to, '\n');
    }
}

void request_print_log(struct buf *to, struct str fixed, const struct exchange *x)
{
    buf_reserve(to, fixed.n + x->headers.n + 64);
    print_lines(to, fixed);
    if (x->url->userinfo.p)
        buf_add_c(to, "Authorization: Basic ***\n");
    print_lines(to, x->headers);
    buf_add_c(to, "Content-Length: ");
    buf_add_int(to, (int64_t)x->body.n);
    buf_add_char(to, '\n');
}
