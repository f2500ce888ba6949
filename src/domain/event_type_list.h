/* Types of events by name, as messages list them. */
#pragma once

#include "base/buf.h"
#include "base/problem.h"
#include "domain/event.h"

#define EVENT_TYPES_ALL (((UINT32_C(1) << (EVENT_TYPE_LAST + 1)) - 1) & ~UINT32_C(1))
/* Types that can be a callback's RewardType. */
#define EVENT_TYPES_REWARD (EVENT_TYPES_ALL & ~(UINT32_C(1) << EVENT_SURVEY_STARTED))

/* "survey_completed, ad_hoc"; types has the bit of each (1 << type). `to` is empty. */
void event_types_print(struct buf *to, uint32_t types);
/* Adds an "invalid" problem; its detail is `before` and the names: "must be one of a, b". */
void event_types_refuse(struct problems *to, struct str field, const char *before, uint32_t types);
