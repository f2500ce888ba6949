/* The request header Idempotency-Key, on the routes that make something. */
#pragma once

#include "api/call.h"
#include "services/control.h"

/* Sets c->idempotency_key where the request has one. False: the 400 has been answered. */
MUST_CHECK bool idempotency_read(struct call *c);
/* On the control thread: whether the key is new, or the request a repetition of its first one.
 * False: c->refusal says that it is neither. */
MUST_CHECK bool idempotency_judge(struct control *control, struct call *c);
/* After that: the id of what the first request has made; absent: nothing yet. */
struct str idempotency_made(const struct call *c);
/* What was made is gone: c->refusal says so; false. */
bool idempotency_refuse_gone(struct call *c);
/* Of a repetition: the header that says so, among those of the answer. */
void idempotency_print_header(const struct call *c, struct buf *headers);
