/* The bytes of a request (RFC 9112). */
#pragma once

#include "send/h2.h"
#include "send/send.h"

/* The header lines that are the same for all exchanges of a destination. */
struct request_fixed {
    struct buf lines, in_log; /* "Name: value\r\n", and as request_print_lines has them */
};
/* *ret is zero-initialised. */
void request_fixed_make(struct request_fixed *ret, const struct url *url, const char *user_agent);
void request_fixed_free(struct request_fixed *fixed);

/* The whole request. */
void request_print(struct buf *to, const struct request_fixed *fixed, const struct exchange *x);
/* The same for HTTP/2 (RFC 9113, section 8.3), as header lines that point into the arguments and
 * into `scratch`, which is cleared first. Returns their number. */
#define REQUEST_H2_HEADERS 32
size_t request_list_h2(struct h2_header ret[REQUEST_H2_HEADERS], struct buf *scratch,
                       const struct request_fixed *fixed, const struct exchange *x);
/* Its header lines for the log: "Name: value\n", credentials masked. */
void request_print_log(struct buf *to, const struct request_fixed *fixed, const struct exchange *x);
/* The format of a logged request, from its header lines. */
enum request_format request_format_of_log(struct str lines);
/* Header lines for the log: without their CR. */
void request_print_lines(struct buf *to, struct str lines);
/* Basic credentials (RFC 7617): "Basic dXNlcg==". */
void request_print_basic(struct buf *to, struct str userinfo);
