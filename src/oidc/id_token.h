/* Reads a person's claims from an ID token, and checks that the token was made for this sign-in
 * (OpenID Connect Core, section 3.1.3.7). Its signature: oidc/token_signature.h. Pure. */
#pragma once

#include "oidc/provider.h"

#define SUBJECT_BYTES_MOST 255 /* OpenID Connect Core, section 2 */

#define AUTH_TIME_WRONG (-1)

struct id_claims {
    struct str subject;
    struct str email; /* lower-case; absent: none, or not usable */
    struct str name;  /* absent: none */
    enum role role;   /* ROLE_NONE: none of the person's groups has one */
    int64_t auth_s;   /* when the person signed in at the provider (auth_time); 0: not given,
                         AUTH_TIME_WRONG: not a time */
};

/* claims: the token's JSON. False: *ret_why is a literal. Texts are in the arena or the claims. */
MUST_CHECK bool id_token_judge(struct arena *arena, struct str claims,
                               const struct provider *provider, struct str nonce, int64_t now_ms,
                               struct id_claims *ret, const char **ret_why);

/* For a person who had to sign in again at the provider (max_age=0). NULL: the token shows a
 * sign-in after since_ms; otherwise a literal that says why not. *ret_is_old true: the person
 * signed in before; false: the token's time cannot be right. A token without auth_time is accepted:
 * some providers omit it although they must send it (OpenID Connect Core, 3.1.2.1). */
const char *id_token_judge_anew(const struct id_claims *claims, int64_t since_ms, int64_t now_ms,
                                bool *ret_is_old);
