/* The members of a reported event, one row each (contract, section 3). Internal.
 *
 * The numbers are part of the content hash, which is stored for ever: rows may be added, but
 * numbers never change. `on`: the types that may have the member; `required`: those that must
 * (what another member's value requires is judged in item.c). A reversal takes PanelistId and the
 * offer's fields from its original. */
#pragma once

#include "domain/event.h"

#define ON(type) (1u << EVENT_##type)
#define ON_ALL (((1u << (EVENT_TYPE_LAST + 1)) - 1) & ~1u)
#define ON_OFFER (ON(OFFER_COMPLETED) | ON(OFFER_CLICKED) | ON(OFFER_COMPLETION_REVERSED))
#define ON_OFFER_ITSELF (ON(OFFER_COMPLETED) | ON(OFFER_CLICKED))
#define ON_SURVEY (ON_ALL & ~ON_OFFER)
#define ON_NOT_REVERSED (ON_ALL & ~ON(OFFER_COMPLETION_REVERSED))

/* number, symbol, name, on, required */
#define EVENT_FIELDS(X)                                                                            \
    X(1, EVENT_ID, "EventId", ON_ALL, ON_ALL)                                                      \
    X(2, TYPE, "Type", ON_ALL, ON_ALL)                                                             \
    X(3, CLIENT_ID, "ClientId", ON_ALL, ON_ALL)                                                    \
    X(4, PANELIST_ID, "PanelistId", ON_ALL, ON_NOT_REVERSED)                                       \
    X(5, TIMESTAMP, "Timestamp", ON_ALL, 0)                                                        \
    X(6, REVENUE_AMOUNT, "RevenueAmount", ON_ALL, ON(SURVEY_COMPLETED) | ON(OFFER_COMPLETED))      \
    X(7, REWARD, "Reward", ON_ALL, ON(AD_HOC))                                                     \
    X(8, SESSION_ID, "SessionId", ON_ALL, 0)                                                       \
    X(9, MID, "Mid", ON_SURVEY, 0)                                                                 \
    X(10, IS_TEST, "IsTest", ON_ALL, 0)                                                            \
    X(11, OFFER_ID, "OfferId", ON_OFFER, ON_OFFER_ITSELF)                                          \
    X(12, OFFER_TITLE, "OfferTitle", ON_OFFER, ON_OFFER_ITSELF)                                    \
    X(13, OFFER_GOAL_ID, "OfferGoalId", ON_OFFER, 0)                                               \
    X(14, ORIGINAL_REWARD_ID, "OriginalRewardId", ON(OFFER_COMPLETION_REVERSED) | ON(AD_HOC),      \
      ON(OFFER_COMPLETION_REVERSED))                                                               \
    X(15, REASON, "Reason", ON(SURVEY_DISQUALIFIED) | ON(AD_HOC) | ON(OFFER_COMPLETION_REVERSED), 0)

enum event_field {
#define EVENT_FIELD_ENUM(number, symbol, name, on, required) FIELD_##symbol = (number),
    EVENT_FIELDS(EVENT_FIELD_ENUM)
#undef EVENT_FIELD_ENUM
};
#define EVENT_FIELD_LAST FIELD_REASON
