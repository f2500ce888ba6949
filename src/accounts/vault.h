/* Encrypts stored secrets with libsodium's secretbox (XSalsa20-Poly1305) under the master key. The
 * text is base64 of nonce and box. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/env.h"

#define MASTER_KEY_BYTES 32

/* Reads 64 hexadecimal digits, or base64 (either alphabet, padded or not) of 32 bytes; ignores
 * white space around it. On failure *ret_why is a literal that says what is required and never
 * repeats the text. */
MUST_CHECK bool master_key_parse(struct str text, uint8_t ret_key[MASTER_KEY_BYTES],
                                 const char **ret_why);

/* The master key and, while it is being changed, a second one, which only decrypts. */
struct vault {
    uint8_t key[MASTER_KEY_BYTES];
    uint8_t second[MASTER_KEY_BYTES];
    bool has_second;
};

/* Derives a secret for a label (at most 255 bytes), always the same one: HMAC-SHA-256 (RFC 2104) of
 * the label under the key. */
#define VAULT_DERIVED_BYTES 32
void vault_derive(const uint8_t key[MASTER_KEY_BYTES], struct str label,
                  uint8_t ret[VAULT_DERIVED_BYTES]);
void vault_seal(const struct vault *vault, struct env *env, struct str secret, struct buf *to);
/* False: damaged, or sealed under another master key. *ret_under_second becomes true if the second
 * key has opened it; otherwise it is unchanged. */
MUST_CHECK bool vault_open(const struct vault *vault, struct arena *arena, struct str sealed,
                           struct str *ret_secret, bool *ret_under_second);
