/* Returns the fields of a callback's body one by one: the reverse of payload_print, for receivers
 * that get a form or a query. */
#pragma once

#include "base/buf.h"
#include "base/check.h"

struct payload_field {
    struct str name;
    struct str value; /* a string's unescaped text, otherwise as in the body; null: empty */
};

/* The next field of `rest`, which is the whole body at first and moves on. Unescaped texts are in
 * `room`, the same buffer for all fields of a body: it does not move meanwhile. False: there is no
 * more field, or this is not such a body. */
MUST_CHECK bool payload_next_field(struct str *rest, struct buf *room,
                                   struct payload_field *ret_field);
