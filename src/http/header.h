/* One header field of a request. */
#pragma once

#include "base/str.h"

struct http_header {
    struct str name, value; /* name lower-cased; value without blanks around it */
};
