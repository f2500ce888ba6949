/* Why a Sig does not match: for partners who write their first receiver.
 *
 * Works on strings that were taken from a body already, so that it depends on no JSON reader.
 * It tries the mistakes that receivers (and operators' own simulations of the service) make and
 * says which one yields the Sig given. An altered id cannot be told from a wrong secret. */
#pragma once

#include "base/buf.h"

enum verify_cause {
    VERIFY_OK,
    VERIFY_MISSING_FIELD,  /* PanelistId or RewardId is not in the body */
    VERIFY_MISSING_SIG,    /* neither Sig nor Signature */
    VERIFY_ONLY_SIGNATURE, /* the deprecated field alone */
    VERIFY_NOT_MD5_HEX,    /* not 32 hexadecimal digits: another hash, base64, a prefix */
    VERIFY_UPPER_CASE,     /* right but for the case of the hex digits */
    VERIFY_ORDER,          /* concatenated in another order */
    VERIFY_SEPARATOR,      /* something stands between the parts */
    VERIFY_PART_MISSING,   /* one of the three was left out */
    VERIFY_HMAC,           /* HMAC-MD5 instead of plain MD5 */
    VERIFY_SECRET_PREFIX,  /* the secret without whsec_ */
    VERIFY_SECRET_DECODED, /* the base64-decoded bytes of the secret */
    VERIFY_WHITE_SPACE,    /* added to or cut from the secret or an id */
    VERIFY_ID_CHANGED,     /* PanelistId as a number, in another case or encoding */
    VERIFY_UNEXPLAINED,    /* another secret, or ids that were altered */
};

/* As in the body, JSON escapes undone; p == NULL: absent. */
struct verify_input {
    struct str panelist_id, reward_id, sig, signature, secret;
};

/* Appends one sentence (without a line end) that says what is wrong and what to do; nothing for
 * VERIFY_OK. Never quotes the secret. Any thread. */
enum verify_cause verify_sig(const struct verify_input *in, struct buf *why);
/* Whether it is a test callback's: no event can have its RewardId. */
bool verify_is_test(const struct verify_input *in);
const char *verify_cause_name(enum verify_cause cause); /* "upper_case" */
