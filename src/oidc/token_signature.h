/* Checks that one of a provider's keys has signed a token (RFC 7515, RFC 7517, RFC 8725), by
 * libcjose. */
#pragma once

#include "base/arena.h"
#include "base/check.h"

enum signature_verdict {
    SIGNATURE_GOOD,
    SIGNATURE_BAD,
    SIGNATURE_UNKNOWN_KEY, /* the set has no such key: the keys may have changed since they were
                              fetched */
};

/* token: a JWS in compact form; keys: the JSON of a JWK Set. SIGNATURE_GOOD: *ret_claims is in the
 * arena; otherwise *ret_why is a literal. */
MUST_CHECK enum signature_verdict signature_judge(struct arena *arena, struct str token,
                                                  struct str keys, struct str *ret_claims,
                                                  const char **ret_why);
