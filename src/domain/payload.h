/* The callback's body, byte for byte (specification 2.2 and 2.3, contract section 4). */
#pragma once

#include "base/buf.h"
#include "domain/event.h"

struct payload_options {
    struct str client_id;
    bool legacy_fields, extended_fields, trim_decimals, numeric_goal_ids;
    enum integration integration;
    struct str trace; /* see struct candidate */
};

struct payload_options payload_options_of(const struct app_terms *terms, struct str client_id,
                                          enum integration integration);

/* Appends the body of `e`. In place of Sig it has the packed traceparent, or 32 '0' if there is
 * none; in place of Signature, 32 '0'. Returns the offset, from the body's first byte, of
 * Signature's digits (0 if the body has none). */
uint16_t payload_print(struct buf *to, const struct event *e, const struct payload_options *o);
/* Prints the body of an event that is being accepted into `room`, from which the event borrows it;
 * prints nothing if it has no callback. */
void payload_fix(struct event *e, const struct candidate *c, struct buf *room);

/* The least number of fractional digits of a Reward (contract, section 2), unless the app trims
 * them. */
int payload_reward_digits(const struct event *e);

/* A JSON string with quotes; escapes only what must be escaped. */
void payload_print_string(struct buf *to, struct str s);

/* Writes the hex digits of Sig into a copy of the body. */
void payload_sign(char *body, uint16_t signature_offset, const char hex[32]);
