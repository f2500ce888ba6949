/* One header field of a request. */
#pragma once

#include "base/str.h"

struct http_header {
    struct str name;  /* lower-cased */
    struct str value; /* without blanks around it; bytes above 0x7f may stand for anything (RFC
                       * 9110, 5.5: obs-text) */
};
