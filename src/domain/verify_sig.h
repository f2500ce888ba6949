/* Finds out why a Sig does not match: for partners who write their first receiver.
 *
 * Takes strings that were parsed from a body already, so it depends on no JSON parser. It tries the
 * mistakes that receivers (and operators' own simulations of the service) make, and returns the one
 * that yields the given Sig. An altered id cannot be distinguished from a wrong secret. */
#pragma once

#include "base/buf.h"

enum verify_cause {
    VERIFY_OK,
    VERIFY_MISSING_FIELD,  /* PanelistId or RewardId is not in the body */
    VERIFY_MISSING_SIG,    /* neither Sig nor Signature */
    VERIFY_ONLY_SIGNATURE, /* only the deprecated field */
    VERIFY_NOT_MD5_HEX,    /* not 32 hexadecimal digits: another hash, base64, a prefix */
    VERIFY_UPPER_CASE,     /* right except for the case of the hex digits */
    VERIFY_ORDER,          /* concatenated in another order */
    VERIFY_SEPARATOR,      /* there is a separator between the parts */
    VERIFY_PART_MISSING,   /* one of the three is missing */
    VERIFY_HMAC,           /* HMAC-MD5 instead of plain MD5 */
    VERIFY_SECRET_PREFIX,  /* the secret without whsec_ */
    VERIFY_SECRET_DECODED, /* the base64-decoded bytes of the secret */
    VERIFY_SECRET_QUOTED,  /* the given secret has quotes around it */
    VERIFY_WHITE_SPACE,    /* white space added to or removed from the secret or an id */
    VERIFY_ID_CHANGED,     /* PanelistId as a number, or in another case or encoding */
    VERIFY_UNEXPLAINED,    /* another secret, or altered ids */
};

/* As in the body, without JSON escapes; p == NULL: absent. */
struct verify_input {
    struct str panelist_id, reward_id, sig, signature, secret;
};

/* Appends one sentence (without a line end) that says what is wrong and what to do; nothing for
 * VERIFY_OK. Never quotes the secret. Any thread. */
enum verify_cause verify_sig(const struct verify_input *in, struct buf *why);
/* True for a test callback: no event can have its RewardId. */
bool verify_is_test(const struct verify_input *in);
const char *verify_cause_name(enum verify_cause cause); /* "upper_case" */
