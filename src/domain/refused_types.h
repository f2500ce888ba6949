/* Which RewardTypes a receiver answers with 5xx, or with a 2xx that the app's SuccessAnswer does
 * not accept, while it accepts other types. Handlers that do not know a type often fail: this says
 * nothing about the receiver's health and must not suspend the lane for the other types.
 * refused_types.c has the rule. */
#pragma once

#include "domain/attempt.h"
#include "domain/event.h"

struct refused_types {
    uint16_t failing; /* bit n: the last answer to enum event_type n was such a failure */
    uint16_t refused; /* the failing types after which another type has succeeded */
};

void refused_types_succeeded(struct refused_types *r, enum event_type type);
/* True: this failure is only about its type. */
bool refused_types_failed(struct refused_types *r, enum event_type type, enum attempt_class class,
                          int status);
