/* What an event is worth and what becomes of it: the decision at acceptance.
 * Contract, sections 2 to 4. Pure: the store looks things up and asks. */
#pragma once

#include "base/check.h"
#include "domain/cap.h"
#include "domain/event.h"

/* What a store has looked up for a candidate. */
struct rules_facts {
    int64_t received_ms;
    int64_t last_accepted_ms; /* of the event accepted last, see acceptance.h */
    uint64_t last_event_no;   /* of the account */
    /* An event has the candidate's key: nothing below known_event_no is looked up then. */
    bool is_known;
    uint64_t known_content;
    uint64_t known_event_no;
    /* Disqualification payments of this (app, panelist) that count for the cap, see cap.h: where
     * rules_needs_payments() says so. */
    struct payments paid;
    /* By OriginalRewardId, where rules_needs_original() says so; NULL: not found. */
    const struct event *original;
    bool is_original_reversed; /* already */
};

/* What has to be looked up for a candidate that is new. */
bool rules_needs_payments(const struct candidate *c);
bool rules_needs_original(const struct candidate *c);
/* Fills `ret_event` where the verdict is VERDICT_ACCEPTED. Text is borrowed from the candidate (and
 * `original`); body is left absent, see payload.h. */
struct verdict rules_decide(const struct candidate *c, const struct rules_facts *facts,
                            struct event *ret_event);

/* The reward an item would get by the app's ratio or its own Reward; false: out of range, or an
 * ad_hoc without one. Used at intake, which refuses such an item (rules_decide asserts
 * it); not for reversals, nor for disqualifications without a Reward of their own. */
MUST_CHECK bool rules_reward(const struct candidate *c, int64_t *ret_reward_micros);
