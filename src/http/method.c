/* The names of methods (RFC 9110, section 9). */
#include "http/server.h"

static const char *const names[] = {
    [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",   [HTTP_POST] = "POST",
    [HTTP_PUT] = "PUT",         [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
    [HTTP_OPTIONS] = "OPTIONS",
};

const char *http_method_name(enum http_method method)
{
    ASSERT((unsigned)method < ARRAY_LEN(names));
    return names[method];
}

enum http_method http_method_parse(struct str name)
{
    size_t found = str_index_of(name, names, ARRAY_LEN(names));
    return found < ARRAY_LEN(names) ? (enum http_method)found : HTTP_OTHER;
}
