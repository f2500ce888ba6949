/* The fields of a callback's body one by one: payload_print backwards. For receivers that are sent
 * a form or a query. */
#pragma once

#include "base/buf.h"
#include "base/check.h"

struct payload_field {
    struct str name;
    struct str value; /* a string's text unescaped, else as it stands in the body; null: empty */
};

/* The next field of `rest`, which is the whole body at first; `rest` moves on. Text that had to be
 * unescaped is in `room`, the same buffer for all fields of a body: it never moves between them.
 * False: there is none, or this is no such body. */
MUST_CHECK bool payload_next_field(struct str *rest, struct buf *room,
                                   struct payload_field *ret_field);
