/* The request header Idempotency-Key, for routes that create something.
 * services/idempotency_records.h keeps the keys. */
#pragma once

#include "api/call.h"
#include "services/control.h"

/* Sets c->idempotency_key if the request has the header. False: 400 was answered. */
MUST_CHECK bool idempotency_read(struct call *c);
/* On the control thread. True: the key is new, or the request repeats the first one with this key.
 * False: another request has used the key; c->refusal says so. */
MUST_CHECK bool idempotency_judge(struct control *control, struct call *c);
/* After idempotency_judge: the id of the object that the first request created; absent: the key is
 * new. */
struct str idempotency_made(const struct call *c);
/* Refuses a repetition because the created object has been removed: sets c->refusal, returns
 * false. */
bool idempotency_refuse_gone(struct call *c);
/* If the request is a repetition, prints the answer's header Idempotency-Replayed. */
void idempotency_print_header(const struct call *c, struct buf *headers);
