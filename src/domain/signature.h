/* Computes Sig (MD5, specification section 5) and the Standard Webhooks signature (HMAC-SHA256
 * over "{id}.{timestamp}.{body}", standardwebhooks.com). The texts to sign are put together here.
 * delivery/callback_request.c chooses their parts: for the format `get` the path and query take
 * the place of the body. */
#pragma once

#include "base/check.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define SIG_HEX_BYTES 32
#define WEBHOOK_SIGNATURE_BYTES 48 /* "v1," and padded base64 of 32 bytes, and a NUL */

/* On any thread; each thread keeps its contexts until it ends. A secret has 1..256 bytes. */

/* Lower-case hex of MD5(panelist_id + reward_id + secret); no NUL is written. */
void signature_sig(struct str panelist_id, struct str reward_id, struct str secret,
                   char ret_hex[SIG_HEX_BYTES]);

#define SECRET_BYTES_MIN 8
#define SECRET_BYTES_MAX 256
/* The key of webhook-signature: the base64-decoded bytes after "whsec_", otherwise the secret's
 * own. The secret has at most SECRET_BYTES_MAX bytes. Returns the key's length. */
size_t signature_webhook_key(struct str secret, uint8_t ret_key[SECRET_BYTES_MAX]);

/* "v1,<base64>" with NUL. */
void signature_webhook(struct str secret, struct str id, int64_t timestamp_s, struct str body,
                       char ret_text[WEBHOOK_SIGNATURE_BYTES]);

/* Lower-case hex of HMAC-SHA256 over a query. As with Sig, the key is the whole secret; no NUL is
 * written. */
#define QUERY_SIGNATURE_BYTES 64
void signature_query(struct str secret, struct str query, char ret_hex[QUERY_SIGNATURE_BYTES]);

/* "whsec_" + base64 of the random bytes given (24..32). Returns the length written. */
#define SECRET_TEXT_MAX 64
int signature_make_secret(const uint8_t *random, int n, char ret_text[SECRET_TEXT_MAX]);
/* Checks a secret given by an operator: 8..256 visible ASCII, padded base64 after "whsec_". On
 * failure *ret_why is a sentence (which never quotes the secret). */
MUST_CHECK bool signature_secret_valid(struct str secret, const char **ret_why);
