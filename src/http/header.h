/* One header field of a request. */
#pragma once

#include "base/str.h"

struct http_header {
    struct str name;  /* lower-cased */
    struct str value; /* without blanks around it; bytes above 0x7f may stand for anything (RFC
                       * 9110, 5.5: obs-text) */
};

/* The value of the first one of that name; absent: there is none. */
struct str http_headers_find(const struct http_header *headers, size_t count,
                             const char *lower_name);
/* How many there are of that name. */
size_t http_headers_count(const struct http_header *headers, size_t count, const char *lower_name);
