/* Reads one cookie's value out of the Cookie header (RFC 6265, section 5.4). Pure. Which session
 * the value names: api/person.c. Whether the request is allowed, also after access was revoked:
 * api/caller.h. */
#pragma once

#include "base/str.h"

/* The value of the cookie; absent: the header lacks it, or has it with two different values. Then
 * another site (a sister domain, over plain HTTP) planted one of them, and nobody knows which. */
struct str cookie_find(struct str header, const char *name);
