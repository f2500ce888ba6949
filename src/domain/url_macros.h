/* Macros in callback URLs: {PanelistId} in the path or in a value of the query is replaced by that
 * field of the callback, percent-encoded. A host has no macros, so the check of a configured URL
 * holds for every attempt. */
#pragma once

#include "base/buf.h"
#include "base/check.h"

/* One for each field of the payloads, and further values that receivers need. */
enum url_macro {
    MACRO_SIG,
    MACRO_PANELIST_ID,
    MACRO_REWARD_TYPE,
    MACRO_REWARD_ID,
    MACRO_REWARD,
    MACRO_REWARD_MICROS,
    MACRO_REVENUE_AMOUNT,
    MACRO_SESSION_ID,
    MACRO_MID,
    MACRO_IS_TEST,
    MACRO_OFFER_ID,
    MACRO_OFFER_GOAL_ID,
    MACRO_OFFER_TITLE,
    MACRO_ORIGINAL_REWARD_ID,
    MACRO_CLIENT_ID,
    MACRO_TIMESTAMP,
    MACRO_QUERY_SIGNATURE, /* has no value: it signs the query before it */
};
#define URL_MACROS (MACRO_QUERY_SIGNATURE + 1)
#define QUERY_SIGNATURE "QuerySignature"

struct url_macro_values {
    struct str of[URL_MACROS]; /* absent: replaced by nothing */
};

MUST_CHECK bool url_macro_parse(struct str name, enum url_macro *ret_macro);
/* Checks that the macros of a URL to be configured are known and in allowed places. False: the
 * empty buffer `why` gets a sentence. */
MUST_CHECK bool url_macros_check(struct str url, struct buf *why);
/* Where path and query begin: after the authority. */
size_t url_target_begin(struct str url);
/* False: nothing has to be replaced. */
bool url_has_macros(struct str target);
bool url_has_macro(struct str target, enum url_macro macro);
/* Appends path and query with macros replaced; other text stays. A path segment with a macro is
 * judged as a server sees it that decodes "%2E" and "%2F" before it resolves steps: where it would
 * have a segment "." or "..", the dots become "%252E". True: {QuerySignature} is at the end and has
 * not been replaced. */
bool url_macros_expand(struct buf *to, struct str target, const struct url_macro_values *values);
/* Percent-encodes everything except letters, digits and "-._~" (RFC 3986, 2.3): valid in a path
 * segment, a query and a form. */
void url_encode(struct buf *to, struct str text);
