/* Which RewardTypes a receiver answers 5xx to while it takes others, or a 2xx that is none by
 * the app's SuccessAnswer. Handlers that do not know a
 * type often fail on it: that says nothing about the receiver's health, and must not suspend the
 * lane for the types that are taken. refused_types.c has the rule. */
#pragma once

#include "domain/attempt.h"
#include "domain/event.h"

struct refused_types {
    uint16_t failing; /* bit n: the last answer to enum event_type n was such a 5xx */
    uint16_t refused; /* the failing ones for which another type has succeeded since */
};

void refused_types_succeeded(struct refused_types *r, enum event_type type);
/* True: this failure is about its type alone. */
bool refused_types_failed(struct refused_types *r, enum event_type type, enum attempt_class class,
                          int status);
