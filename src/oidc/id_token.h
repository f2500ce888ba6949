/* What an ID token says of a person, and whether it was made for this sign-in (OpenID Connect Core,
 * section 3.1.3.7). Its signature is judged by oidc/token_signature.h. Pure. */
#pragma once

#include "oidc/provider.h"

#define SUBJECT_BYTES_MOST 255 /* OpenID Connect Core, section 2 */

#define AUTH_TIME_WRONG (-1)

struct id_claims {
    struct str subject;
    struct str email; /* lower-case; absent: none that may be used */
    struct str name;  /* absent: none */
    enum role role;   /* ROLE_NONE: no group of the person's has one */
    int64_t auth_s;   /* when the provider had the person sign in (auth_time); 0: it does not say,
                       * AUTH_TIME_WRONG: it is no time */
};

/* The claims are a token's JSON. False: *ret_why is a literal. Texts are the arena's, or the
 * claims'. */
MUST_CHECK bool id_token_judge(struct arena *arena, struct str claims,
                               const struct provider *provider, struct str nonce, int64_t now_ms,
                               struct id_claims *ret, const char **ret_why);

/* Of a person who had to sign in anew there (max_age=0), since then: NULL, or why the token does
 * not show it, a literal; *ret_is_old: because the person signed in before, else because its time
 * cannot be right. A token that does not say is taken: some providers leave auth_time out although
 * they must send it (OpenID Connect Core, 3.1.2.1). */
const char *id_token_judge_anew(const struct id_claims *claims, int64_t since_ms, int64_t now_ms,
                                bool *ret_is_old);
