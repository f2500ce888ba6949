/* Serves the embedded files. The page loads nothing from other sites, runs no inline script or
 * style, and may not be framed. It shows what partners' receivers answered, so browsers are told to
 * be strict. Trusted Types: nothing in the dashboard writes HTML from text. Entity tags are weak: a
 * file has the same one plain and compressed (RFC 9110, 8.8.3.3). */
#include "web/web.h"

#include "domain/negotiate.h"

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

/* Browsers ask for pages by name; a client that accepts anything means the API. */
static bool wants_page(struct http_request *r)
{
    struct str accept = http_header_list(r, "accept");
    struct media_wish page = accept_media(accept, "text/html");
    return accept.p && page.named == 3 && page.quality > 0;
}

static const struct web_file *file_of(struct str path)
{
    for (size_t i = 0; i < web_file_count; i++)
        if (str_eq(web_files[i].path, path))
            return &web_files[i];
    return NULL;
}

/* Paths of the API, known or not, are never pages: a wrong one must answer 404. */
static bool may_be_page(struct str path)
{
    return !str_is(path, "/api") && !str_has_prefix(path, "/api/") &&
           !str_has_prefix(path, "/assets/");
}

static void answer_file(struct http_request *r, const struct web_file *file, enum coding coding)
{
    bool is_page = str_is(file->path, "/");
    struct buf headers = {0};
    buf_printf(&headers, "Cache-Control: %s\r\nETag: W/%s\r\nVary: Accept, Accept-Encoding\r\n",
               is_page ? "no-cache" : "public, max-age=31536000, immutable", file->etag);
    buf_add_c(&headers, is_page ? EVERY_FILE POLICY : EVERY_FILE);
    if (etag_listed_weak(http_header_list(r, "if-none-match"), str_of(file->etag))) {
        http_respond(r, 304, NULL, buf_str(&headers), STR_NONE);
    } else {
        if (coding == CODING_GZIP)
            buf_add_c(&headers, "Content-Encoding: gzip\r\n");
        http_respond(r, 200, file->type, buf_str(&headers),
                     coding == CODING_GZIP ? file->gzip : file->plain);
    }
    buf_free(&headers);
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
    enum coding coding = accept_coding(http_header_list(r, "accept-encoding"), false);
    if (coding == CODING_NONE)
        http_respond(r, 406, "text/plain", STR("Vary: Accept, Accept-Encoding\r\n"),
                     STR("Files are sent as they are, or with Content-Encoding gzip.\n"));
    else
        answer_file(r, file, coding);
    return true;
}
