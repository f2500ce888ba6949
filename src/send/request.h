/* A request as bytes: RFC 9112, with nothing a receiver could misread. */
#pragma once

#include "send/h2.h"
#include "send/send.h"

/* "Host: ...\r\nUser-Agent: ...\r\n..." up to what differs from exchange to exchange: made once per
 * destination. */
void request_print_fixed(struct buf *to, const struct url *url, const char *user_agent);
/* The whole request. `fixed` is what the line above made. */
void request_print(struct buf *to, struct str fixed, const struct exchange *x);
/* The same for HTTP/2 (RFC 9113, section 8.3): as header lines, which point into the arguments and
 * into `scratch`, whose former contents are gone. Returns how many. */
#define REQUEST_H2_HEADERS 32
size_t request_list_h2(struct h2_header ret[REQUEST_H2_HEADERS], struct buf *scratch,
                       struct str fixed, const struct exchange *x);
/* Its header lines for the log: "Name: value\n", credentials masked. */
void request_print_log(struct buf *to, struct str fixed_lines, const struct exchange *x);
/* The format of the request that these lines, from the log, were sent with. */
enum request_format request_format_of_log(struct str lines);
/* Header lines as the log has them: without their CR. */
void request_print_lines(struct buf *to, struct str lines);
/* A header line of Basic credentials (RFC 7617). */
void request_print_basic(struct buf *to, const char *name, struct str userinfo);
