/* One header field of a request. */
#pragma once

#include "base/str.h"

struct http_header {
    struct str name;  /* lower-cased */
    struct str value; /* without blanks around it; bytes above 0x7f have no defined meaning (RFC
                         9110, 5.5: obs-text) */
};

/* The value of the first header of that name; absent: none. */
struct str http_headers_find(const struct http_header *headers, size_t count,
                             const char *lower_name);
/* The number of headers of that name. */
size_t http_headers_count(const struct http_header *headers, size_t count, const char *lower_name);
