/* The Cookie header (RFC 6265, section 5.4), read for one name. Pure. */
#pragma once

#include "base/str.h"

/* The value of the cookie; absent where it is not there, or there with two different values: one
 * of them was planted (by a sister domain, over plain HTTP), and nobody knows which. */
struct str cookie_find(struct str header, const char *name);
