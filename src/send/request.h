/* A request as bytes: RFC 9112, with nothing a receiver could misread. */
#pragma once

#include "send/send.h"

/* "Host: ...\r\nUser-Agent: ...\r\n..." up to what differs from exchange to exchange: made once per
 * destination. */
void request_print_fixed(struct buf *to, const struct url *url, const char *user_agent);
/* The whole request. `fixed` is what the line above made. */
void request_print(struct buf *to, struct str fixed, const struct exchange *x);
/* Its header lines for the log: "Name: value\n", credentials masked. */
void request_print_log(struct buf *to, struct str fixed, const struct exchange *x);
/* A header line of Basic credentials (RFC 7617). */
void request_print_basic(struct buf *to, const char *name, struct str userinfo);
