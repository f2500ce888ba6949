/* Finds headers by name. */
#include "http/header.h"

struct str http_headers_find(const struct http_header *headers, size_t count,
                             const char *lower_name)
{
    for (size_t i = 0; i < count; i++) {
        if (str_is(headers[i].name, lower_name))
            return headers[i].value;
    }
    return STR_NONE;
}

size_t http_headers_count(const struct http_header *headers, size_t count, const char *lower_name)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += str_is(headers[i].name, lower_name);
    return found;
}
