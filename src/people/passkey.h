/* Passkeys (Web Authentication Level 3): prints and reads the public keys in a user's document,
 * verifies that an authenticator has signed the challenge that it was given (passkey_judge), and
 * decides that the same answer signs in only once (passkey_use). Pure. CBOR is not parsed:
 * docs/decisions/passkeys.md says why. */
#pragma once

#include "base/arena.h"
#include "people/user_record.h"

#define PASSKEYS_PER_USER 10
/* Longer ones are refused; texts are base64url. */
#define PASSKEY_CREDENTIAL_BYTES 1023 /* the most that the standard allows */
#define PASSKEY_KEY_BYTES 600         /* an RSA key of 4,096 bits has 550 */

struct json;
struct json_writer;

struct passkey {
    struct str id, name;
    struct str credential; /* the authenticator's name for it; base64url */
    struct str key;        /* SubjectPublicKeyInfo; base64url */
    int64_t created_ms, last_used_ms;
    struct used_once challenges_ms; /* when those that signed in end; see passkey_use */
    int64_t sign_count;             /* 0: the authenticator does not count */
};

/* The user's, in the arena. Returns how many. */
size_t passkeys_of(struct arena *arena, const struct user *u,
                   struct passkey ret[PASSKEYS_PER_USER]);
/* As the stored document has them; false: it is damaged, and *ret_count is what can be read. */
MUST_CHECK bool passkeys_read(struct arena *arena, const struct json *list,
                              struct passkey ret[PASSKEYS_PER_USER], size_t *ret_count);
/* The user has these from now on; the text is the arena's. */
void user_set_passkeys(struct user *next, struct arena *arena, const struct passkey *keys,
                       size_t count);

/* What was asked of the authenticator. */
struct passkey_ask {
    bool is_new;          /* a passkey is made; else one signs in */
    struct str challenge; /* base64url */
    struct str origin;    /* of the page: scheme, host and port */
    struct str rp_id;     /* its host */
};

/* Members of what PublicKeyCredential.toJSON() gives, which is not to be trusted; absent where it
 * lacks them. The user handle is decoded, in the arena. */
struct str passkey_credential_of(const struct json *given);
struct str passkey_user_of(struct arena *arena, const struct json *given);

/* NULL: the credential is new, and its key one that can be used, or this passkey has signed what
 * was asked; *ret has credential, key and sign_count. Else why not, a literal. */
const char *passkey_judge(struct arena *arena, const struct json *given,
                          const struct passkey_ask *ask, struct str key, struct passkey *ret);
/* Called when passkey_judge has returned NULL for a sign-in. `challenge_ms` is when the signed
 * challenge ends, `sign_count` the authenticator's counter. NULL: the passkey signs in, and *k
 * remembers both. Else the reason, a literal: the challenge must not have been used (used_once.h)
 * nor be one of a time to come, and a counter, if the authenticator has one, must have grown. A
 * counter that has not grown means that there may be a copy of the authenticator. */
const char *passkey_use(struct passkey *k, int64_t challenge_ms, int64_t sign_count,
                        int64_t now_ms);
