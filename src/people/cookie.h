/* Reads one cookie's value out of the Cookie header (RFC 6265, section 5.4). Pure. Which session
 * the value names: api/person.c. Whether the request is allowed, also after access was revoked:
 * api/caller.h. */
#pragma once

#include "base/str.h"

/* The value of the cookie; absent where it is not there, or there with two different values: one
 * of them was planted (by a sister domain, over plain HTTP), and nobody knows which. */
struct str cookie_find(struct str header, const char *name);
