/* The request of one attempt: headers and signed body. Contract, section 4, "Signatures". */
#pragma once

#include "accounts/accounts.h"
#include "base/buf.h"

struct request_source {
    struct str event_id, panelist_id, body; /* body with zeros where Sig goes */
    uint16_t signature_offset;
    bool is_test;
    int32_t number; /* of the attempt, from 1 */
    int64_t occurred_ms;
};

/* Of a test callback, whose texts must outlive it. */
struct request_source request_of_test(const struct event *e);
/* Appends the header lines ("Name: value\r\n") and the body with its signature as of wall_ms. */
void request_build(struct buf *headers, struct buf *body, const struct request_source *from,
                   const struct app *app, int64_t wall_ms);
