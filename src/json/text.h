/* The grammar of JSON's leaves (RFC 8259, sections 6 and 7). Internal to json/. */
#pragma once

#include "base/arena.h"
#include "base/check.h"
#include "base/str.h"

/* Whether the whole text is one JSON number. */
bool json_is_number(struct str text);

/* The value of the string whose opening quote `raw` stands behind: borrowed when it has no escapes,
 * else a copy in the arena. *ret_at is the offset in `raw` of what follows the closing quote; on
 * failure that of the fault, and *ret_why is a literal. What JSON allows and no text of ours may
 * hold (U+0000, a lone surrogate) is U+FFFD in the value, and *ret_unusable says it (else NULL). */
MUST_CHECK bool json_unescape(struct arena *arena, struct str raw, struct str *ret_value,
                              const char **ret_unusable, const char **ret_why, size_t *ret_at);
