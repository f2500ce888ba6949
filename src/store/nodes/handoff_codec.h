/* Encodes callbacks into the row that announces them to another node, so that the node need not
 * read them. Each begins with the number of its layout; a node that does not know the layout reads
 * the callback from its table. */
#pragma once

#include "base/buf.h"
#include "domain/event.h"

/* Bound for one lane and group: further callbacks are announced without their bytes. */
#define HANDOFF_BYTES_MOST 65536
/* Bound for one row, unless a single callback is larger: PostgreSQL keeps a row of this size in a
 * page of the table. */
#define HANDOFF_ROW_BYTES 7500

size_t handoff_bytes(const struct event *e);
/* Appends the event's callback, due at e->due_ms for the first time. The row has the account and
 * the lane. */
void handoff_encode(struct buf *to, const struct event *e);
/* Cuts the next callback off; its texts borrow. False: there is none, or its layout is unknown, and
 * then *rest is not empty. */
MUST_CHECK bool handoff_decode(struct str *rest, struct event *ret);
