/* Passwords and recovery codes. Passwords are stretched with argon2id (RFC 9106), which takes
 * memory and tens of milliseconds: on the worker for slow calls only, never on a loop. */
#pragma once

#include "base/buf.h"
#include "base/env.h"

#define PASSWORD_CHARACTERS_LEAST 12
#define PASSWORD_CHARACTERS_MOST 128
#define PASSWORD_HASH_BYTES 128 /* libsodium's text, with its NUL */

/* True if the text may be a password. False: *ret_why is a literal that says what is required.
 * Length beats composition (NIST SP 800-63B, section 5.1.1.2). */
MUST_CHECK bool password_good(struct str password, struct str email, const char **ret_why);

/* Slow. Ends the process if there is not enough memory. like: a hash whose salt is used again;
 * absent, or without a salt: a random salt. */
void password_hash(struct str password, struct str like, char ret_hash[PASSWORD_HASH_BYTES]);
/* True if password_hash with `like` would give the password of `hash` another salt. */
bool password_lacks_salt(struct str hash, struct str like);
/* Slow, and as slow for an absent `hash` (no user), which gives false. */
MUST_CHECK bool password_verify(struct str hash, struct str password);
/* Finds the hashes that belong to the password. Slow once per different salt, and once if there is
 * none. */
void password_verify_each(const struct str *hashes, size_t count, struct str password,
                          bool *ret_right);

#define RECOVERY_CODES 10
#define RECOVERY_CODE_BYTES 11 /* "xxxxx-xxxxx": 50 random bits each */
void recovery_code_make(struct env *env, char ret_code[RECOVERY_CODE_BYTES + 1]);
/* SHA-256 of a typed code without blanks, hyphens and case. False: it is no code. */
MUST_CHECK bool recovery_code_hash(struct str typed, uint8_t ret_hash[32]);
