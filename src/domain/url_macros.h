/* Macros in callback URLs: {PanelistId} in the path or in a value of the query stands for that
 * field of the callback, percent-encoded. A host is never made of macros: what a URL was checked
 * for when it was set holds at every attempt. */
#pragma once

#include "base/buf.h"
#include "base/check.h"

/* One for each field of the payloads, and what receivers want besides. */
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
    MACRO_QUERY_SIGNATURE, /* without a value: it signs what stands before it */
};
#define URL_MACROS (MACRO_QUERY_SIGNATURE + 1)
#define QUERY_SIGNATURE "QuerySignature"

struct url_macro_values {
    struct str of[URL_MACROS]; /* absent: nothing is put in the macro's place */
};

MUST_CHECK bool url_macro_parse(struct str name, enum url_macro *ret_macro);
/* Whether the macros of a URL that is about to be set are known and stand where they may. On
 * failure the empty buffer `why` has a sentence. */
MUST_CHECK bool url_macros_check(struct str url, struct buf *why);
/* Where path and query begin: behind the authority. */
size_t url_target_begin(struct str url);
/* False: nothing has to be replaced. */
bool url_has_macros(struct str target);
/* Appends path and query with values in place of macros. What is no macro stays as it is. A segment
 * of the path that its values make "." or ".." has these dots as "%252E": servers resolve "%2E",
 * too. True: {QuerySignature} stands at the end, and nothing was put in its place. */
bool url_macros_expand(struct buf *to, struct str target, const struct url_macro_values *values);
/* Percent-encodes all but letters, digits and "-._~" (RFC 3986, 2.3): right within a segment of the
 * path, a query and a form alike. */
void url_encode(struct buf *to, struct str text);
