/* Callbacks as bytes, in the row that tells another node of them: so that it need not look them up.
 * Each begins with the number of its layout; who does not know that looks. */
#pragma once

#include "base/buf.h"
#include "domain/event.h"

/* Of one lane and group: more is told of, and not carried. */
#define HANDOFF_BYTES_MOST 65536
/* Of one row, unless a single callback is larger: it is kept whole in a page of the table. */
#define HANDOFF_ROW_BYTES 7500

size_t handoff_bytes(const struct event *e);
/* Its callback, due at e->due_ms for the first time. The account and the lane are the row's. */
void handoff_encode(struct buf *to, const struct event *e);
/* Cuts the next one off; texts borrow. False, where there is none, or none that is understood:
 * *rest is then not empty. */
MUST_CHECK bool handoff_decode(struct str *rest, struct event *ret);
