/* The query string: percent-decoded parameters, and readers for those that many routes
 * take, such as `limit` and `after`. What a value of `after` means: services/cursor.h. */
#pragma once

#include "api/call.h"

struct route_parameter;

/* Decodes %XX (and '+' as a space where asked); false on a broken escape, bad UTF-8 or U+0000. */
MUST_CHECK bool query_decode(struct arena *arena, struct str text, bool plus_is_space,
                             struct str *ret);

/* Decodes a pair "name=value" of a query or form. The value is absent without "=". False: one of
 * them cannot be decoded. */
MUST_CHECK bool query_decode_pair(struct arena *arena, struct str pair, struct parameter *ret);

/* Fills c->parameters. False: a parameter is unknown, repeated, empty or malformed; see
 * c->problems. `known`: the route's. also_partner_id: partnerId is allowed, too, for operators, and
 * for a partner with its own account. */
MUST_CHECK bool query_parse(struct call *c, const struct route_parameter *known,
                            bool also_partner_id);

/* The parameter's number within [least, most]; fallback: not given. Adds a problem if it is
 * wrong. */
int64_t query_int(struct call *c, const char *name, int64_t least, int64_t most, int64_t fallback);
bool query_bool(struct call *c, const char *name, bool fallback);
/* "limit": the maximum number of items in a list. */
#define LIST_DEFAULT 50 /* the dashboard counts on it: pageRows in pages/callbacks/log.ts */
#define LIST_MOST 500   /* printed in slices */
uint32_t query_limit(struct call *c);
/* Parameters that several routes take. False: the parameter is not given. If it is wrong, a problem
 * is added and the output keeps its value. */
bool query_time(struct call *c, const char *name, int64_t *ret_ms);
bool query_day(struct call *c, const char *name, int32_t *ret_day);
/* Adds a problem if "from" is after "to". Both must be given and valid. */
void query_check_times(struct call *c, int64_t from_ms, int64_t to_ms);
#define QUERY_AFTER_DETAIL "The Next of an earlier answer, as it was given."
bool query_after(struct call *c, uint64_t *ret_position); /* "after": a list's Next */
