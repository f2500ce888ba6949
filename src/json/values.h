/* Readers of one JSON value each, of a request's body or an event: they add a problem of the member
 * `name` if the value is wrong. The output keeps its value then, and for an absent member (NULL).
 */
#pragma once

#include "base/problem.h"
#include "domain/money.h"
#include "json/reader.h"

void value_bool(const struct json *v, struct str name, struct problems *faults, bool *ret);
void value_text(const struct json *v, struct str name, size_t least_bytes, size_t most_bytes,
                struct problems *faults, struct str *ret);
/* False: it is none; no problem is added. A number beyond int64_t's range is its nearest end. */
MUST_CHECK bool value_whole_number(const struct json *v, int64_t *ret);
/* An amount in a number or a string. Adds a problem only if it is none or too fine: bounds are the
 * caller's, who may call value_money_out_of_range. */
MUST_CHECK enum money_parse value_money(const struct json *v, struct str name,
                                        struct problems *faults, int64_t *ret_micros);
void value_money_out_of_range(struct str name, int64_t least_micros, int64_t most_micros,
                              struct problems *faults);
