/* The request of one attempt: headers, target and signed body. Contract, section 4,
 * "Signatures". */
#pragma once

#include "accounts/accounts.h"
#include "base/buf.h"
#include "domain/signature.h"

struct request_source {
    struct str event_id, panelist_id, body; /* see event.body */
    struct str target;                      /* path and query of the URL, macros in place */
    uint16_t signature_offset;
    enum request_format format;
    bool is_test;
    int32_t number; /* the attempt's number, from 1 */
    int64_t occurred_ms;
};

/* For a test callback; its texts must outlive the result. */
struct request_source request_of_test(const struct event *e, enum request_format format,
                                      struct str target);
/* Buffers, empty at first; their memory is reused. */
struct callback_request {
    struct buf headers; /* "Name: value\r\n" lines */
    struct buf body;
    struct buf target; /* empty: the URL's own target is sent */
    char sig[SIG_HEX_BYTES];
};

/* Builds headers, target and body, signed with the secrets valid at wall_ms. */
void request_build(struct callback_request *r, const struct request_source *from,
                   const struct app *app, int64_t wall_ms);
void request_free(struct callback_request *r);
