/* Passwords and recovery codes. Passwords are stretched with argon2id (RFC 9106), which takes
 * memory and tens of milliseconds: on the worker for slow calls only, never on a loop. */
#pragma once

#include "base/buf.h"
#include "base/env.h"

#define PASSWORD_CHARACTERS_LEAST 12
#define PASSWORD_CHARACTERS_MOST 128
#define PASSWORD_HASH_BYTES 128 /* libsodium's text, with its NUL */

/* Whether the text may be a password; else *ret_why is a literal that says what is wanted.
 * Length beats composition (NIST SP 800-63B, section 5.1.1.2). */
MUST_CHECK bool password_good(struct str password, struct str email, const char **ret_why);

/* Slow. Ends the process where there is no memory for it. `like`: another hash, whose salt this one
 * takes; absent, or without such a salt: a random one. */
void password_hash(struct str password, struct str like, char ret_hash[PASSWORD_HASH_BYTES]);
/* Whether password_hash would give the password of `hash` the salt of `like`, which it has not. */
bool password_lacks_salt(struct str hash, struct str like);
/* Slow, and equally so where `hash` is absent (nobody's password): then it is false. */
MUST_CHECK bool password_verify(struct str hash, struct str password);
/* Which of the hashes are the password's. Slow once for each salt among them, and once where there
 * is none. */
void password_verify_each(const struct str *hashes, size_t count, struct str password,
                          bool *ret_right);

#define RECOVERY_CODES 10
#define RECOVERY_CODE_BYTES 11 /* "xxxxx-xxxxx": 50 random bits each */
void recovery_code_make(struct env *env, char ret_code[RECOVERY_CODE_BYTES + 1]);
/* SHA-256 of the code as it is typed: blanks, hyphens and case do not count. False: it is none. */
MUST_CHECK bool recovery_code_hash(struct str typed, uint8_t ret_hash[32]);
