/* Readers of an event's members, beside those of json/values.h and with their rules. Internal to
 * intake/. */
#pragma once

#include "json/values.h"

struct amount_range {
    struct str name;
    int64_t least, most; /* millionths, inclusive; 0, 0: events of this type have no amounts */
};

/* True if there is a valid amount. */
bool value_amount(const struct json *v, const struct amount_range *range, struct problems *faults,
                  int64_t *ret_micros);
/* EventId, OriginalRewardId: [A-Za-z0-9][A-Za-z0-9_:-]{0,127}. */
void value_event_id(const struct json *v, struct str name, struct problems *faults,
                    struct str *ret);
/* null counts as absent; at most LIMIT_TEXT_BYTES. */
void value_optional_text(const struct json *v, struct str name, struct problems *faults,
                         struct str *ret);
/* A string, or an integer, which is stored as its digits. */
void value_offer_goal_id(const struct json *v, struct problems *faults, struct str *ret);
/* An integer from 1 to 2^53 - 1. */
void value_offer_id(const struct json *v, struct problems *faults, int64_t *ret);
