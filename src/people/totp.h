/* One-time passwords by time (RFC 6238, with HMAC-SHA-1 and 30 s, which every authenticator app
 * knows), as the second factor. Pure. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

#define TOTP_SECRET_BYTES 20 /* RFC 4226, section 4: at least 16, 20 recommended */
#define TOTP_DIGITS 6
#define TOTP_PERIOD_MS 30000
#define TOTP_USED_KEPT 10

/* The value of a step (or, by RFC 4226, of a counter), 0..999999. */
uint32_t totp_value(struct str secret, int64_t step);
/* The steps of the codes that were used last, the newest first; 0: none. */
struct totp_used {
    int64_t steps[TOTP_USED_KEPT];
};
/* The step whose code this is, of those from one before now to one after it (a phone's clock goes
 * wrong, and typing takes time), but none up to the one used last: a code is good once. 0: it is
 * none.
 *
 * If the step used last is later than all of these, one of the two clocks is wrong, the server's
 * then or the server's now. Then only the steps that are kept are refused: otherwise nobody could
 * sign in until a clock that was ahead and has been corrected reaches that step again. */
int64_t totp_find_step(struct str secret, struct str code, int64_t now_ms,
                       const struct totp_used *used);
void totp_use(struct totp_used *used, int64_t step);

/* RFC 4648, section 6, without padding. */
void base32_print(struct buf *to, struct str bytes);
/* What an authenticator app reads from a QR code: otpauth://totp/postbackd:a%40b.example?... */
void totp_print_uri(struct buf *to, struct str secret, struct str email);
