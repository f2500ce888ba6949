/* Passkeys (Web Authentication Level 3): prints and reads the public keys in a user's document,
 * verifies that an authenticator has signed the challenge that it was given (passkey_judge), and
 * decides that the same answer signs in only once (passkey_use). Pure. CBOR is not parsed:
 * docs/decisions/passkeys.md says why. */
#pragma once

#include "base/arena.h"
#include "people/user_record.h"

#define PASSKEYS_PER_USER 10
/* Longer ones are refused. Texts are base64url. */
#define PASSKEY_CREDENTIAL_BYTES 1023 /* the most that the standard allows */
#define PASSKEY_KEY_BYTES 600         /* an RSA key of 4,096 bits has 550 */

struct json;
struct json_writer;

struct passkey {
    struct str id, name;
    struct str credential; /* the authenticator's id of it; base64url */
    struct str key;        /* SubjectPublicKeyInfo; base64url */
    int64_t created_ms, last_used_ms;
    struct used_once challenges_ms; /* expiry times of used challenges; see passkey_use */
    int64_t sign_count;             /* 0: the authenticator does not count */
};

/* Reads the user's passkeys into the arena. Returns their number. */
size_t passkeys_of(struct arena *arena, const struct user *u,
                   struct passkey ret[PASSKEYS_PER_USER]);
/* Reads a stored list. False: it is damaged, and *ret_count passkeys are readable. */
MUST_CHECK bool passkeys_read(struct arena *arena, const struct json *list,
                              struct passkey ret[PASSKEYS_PER_USER], size_t *ret_count);
/* Replaces the user's passkeys; the text is in the arena. */
void user_set_passkeys(struct user *next, struct arena *arena, const struct passkey *keys,
                       size_t count);

/* The request that the authenticator answers. */
struct passkey_ask {
    bool is_new;          /* true: a passkey is created; false: it signs in */
    struct str challenge; /* base64url */
    struct str origin;    /* of the page: scheme, host and port */
    struct str rp_id;     /* its host */
};

/* Members of an untrusted PublicKeyCredential.toJSON(); absent if it lacks them. The user handle is
 * decoded into the arena. */
struct str passkey_credential_of(const struct json *given);
struct str passkey_user_of(struct arena *arena, const struct json *given);

/* NULL: the answer is valid. A new credential has a usable key; at a sign-in the passkey has signed
 * the request. *ret has credential, key and sign_count. Otherwise a literal that says why not. */
const char *passkey_judge(struct arena *arena, const struct json *given,
                          const struct passkey_ask *ask, struct str key, struct passkey *ret);
/* Call it after passkey_judge has returned NULL for a sign-in. challenge_ms: when the signed
 * challenge expires; sign_count: the authenticator's counter. NULL: the passkey signs in, and *k
 * remembers both. Otherwise a literal that says why not: the challenge was used before
 * (used_once.h) or expires too far in the future, or the counter, if the authenticator has one, has
 * not grown. A counter that has not grown may mean that there is a copy of the authenticator. */
const char *passkey_use(struct passkey *k, int64_t challenge_ms, int64_t sign_count,
                        int64_t now_ms);
