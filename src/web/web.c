/* Serving the embedded files.
 *
 * The page loads nothing from anywhere else, runs no script and no style that stands in it, and
 * may not be framed; what a partner's receiver answered is shown in it, so the browser is told to
 * be strict. Trusted Types: nothing in the dashboard writes HTML from text. */
#include "web/web.h"

#define POLICY                                                                                     \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "           \
    "img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "   \
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n"         \
    "Referrer-Policy: no-referrer\r\n"                                                             \
    "Cross-Origin-Opener-Policy: same-origin\r\n"                                                  \
    "Permissions-Policy: camera=(), geolocation=(), microphone=(), payment=(), usb=()\r\n"

#define EVERY_FILE                                                                                 \
    "X-Content-Type-Options: nosniff\r\n"                                                          \
    "Cross-Origin-Resource-Policy: same-origin\r\n"

static bool quality_is_zero(struct str parameters)
{
    while (parameters.p) {
        struct str value = str_trim(str_cut(&parameters, ';'));
        struct str name = str_trim(str_cut(&value, '='));
        if (!str_eq_nocase(name, "q") || !value.p)
            continue;
        for (size_t i = 0; i < value.n; i++)
            if (value.p[i] != '0' && value.p[i] != '.' && value.p[i] != ' ')
                return false;
        return true;
    }
    return false;
}

bool web_takes_gzip(struct str accept_encoding)
{
    bool any = false;
    while (accept_encoding.p) {
        struct str parameters = str_cut(&accept_encoding, ',');
        struct str coding = str_trim(str_cut(&parameters, ';'));
        if (str_eq_nocase(coding, "gzip") || str_eq_nocase(coding, "x-gzip"))
            return !quality_is_zero(parameters);
        if (str_is(coding, "*"))
            any = !quality_is_zero(parameters);
    }
    return any;
}

static bool wants_page(const struct http_request *r)
{
    struct str accept = http_header(r, "accept");
    while (accept.p) {
        struct str range = str_cut(&accept, ',');
        if (str_eq_nocase(str_trim(str_cut(&range, ';')), "text/html"))
            return true;
    }
    return false;
}

static const struct web_file *file_of(struct str path)
{
    for (size_t i = 0; i < web_file_count; i++)
        if (str_eq(web_files[i].path, path))
            return &web_files[i];
    return NULL;
}

/* The interface's own paths, known or not, are never pages: a wrong one must say 404. */
static bool may_be_page(struct str path)
{
    return !str_is(path, "/api") && !str_has_prefix(path, "/api/") &&
           !str_has_prefix(path, "/assets/");
}

static bool has_etag(const struct http_request *r, const char *etag)
{
    struct str given = http_header(r, "if-none-match");
    while (given.p) {
        struct str tag = str_trim(str_cut(&given, ','));
        if (str_has_prefix(tag, "W/"))
            tag = (struct str){tag.p + 2, tag.n - 2};
        if (str_is(tag, etag))
            return true;
    }
    return false;
}

bool web_answer(struct http_request *r)
{
    if (r->method != HTTP_GET && r->method != HTTP_HEAD)
        return false;
    const struct web_file *file = file_of(r->path);
    if (!file && may_be_page(r->path) && wants_page(r))
        file = file_of(STR("/"));
    if (!file)
        return false;
    bool is_page = str_is(file->path, "/");
    bool gzip = web_takes_gzip(http_header(r, "accept-encoding"));
    struct buf headers = {0};
    buf_printf(&headers, "Cache-Control: %s\r\nETag: %s\r\nVary: Accept, Accept-Encoding\r\n",
               is_page ? "no-cache" : "public, max-age=31536000, immutable", file->etag);
    buf_add_c(&headers, is_page ? EVERY_FILE POLICY : EVERY_FILE);
    if (has_etag(r, file->etag)) {
        http_respond(r, 304, NULL, buf_str(&headers), STR_NONE);
    } else {
        if (gzip)
            buf_add_c(&headers, "Content-Encoding: gzip\r\n");
        http_respond(r, 200, file->type, buf_str(&headers), gzip ? file->gzip : file->plain);
    }
    buf_free(&headers);
    return true;
}
