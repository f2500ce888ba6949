/* Whether one of a provider's keys signed a token (RFC 7515, RFC 7517, RFC 8725), by libcjose. */
#pragma once

#include "base/arena.h"
#include "base/check.h"

enum signature_verdict {
    SIGNATURE_GOOD,
    SIGNATURE_BAD,
    SIGNATURE_UNKNOWN_KEY, /* the set has no such key: it may have been changed since */
};

/* The token is a JWS in compact form, the keys a JWK Set's JSON. *ret_claims, in the arena, where
 * it is good; else *ret_why is a literal. */
MUST_CHECK enum signature_verdict signature_judge(struct arena *arena, struct str token,
                                                  struct str keys, struct str *ret_claims,
                                                  const char **ret_why);
