/* One-time passwords by time (RFC 6238, with HMAC-SHA-1 and 30 s, which every authenticator app
 * knows), as the second factor. Pure. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "people/used_once.h"

#define TOTP_SECRET_BYTES 20 /* RFC 4226, section 4: at least 16, 20 recommended */
#define TOTP_DIGITS 6
#define TOTP_PERIOD_MS 30000

/* The value of a step (or, by RFC 4226, of a counter), 0..999999. */
uint32_t totp_value(struct str secret, int64_t step);
/* The step with this code: now, the one before or the one after (phones' clocks are wrong, and
 * typing takes time), unless `used` refuses it. 0: there is none. */
int64_t totp_find_step(struct str secret, struct str code, int64_t now_ms,
                       const struct used_once *used);

/* RFC 4648, section 6, without padding. */
void base32_print(struct buf *to, struct str bytes);
/* What an authenticator app reads from a QR code: otpauth://totp/postbackd:a%40b.example?... */
void totp_print_uri(struct buf *to, struct str secret, struct str email);
