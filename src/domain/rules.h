/* The decision at acceptance: the value of an event and the state of its callback, or that it is a
 * duplicate or a conflict. Contract, sections 2 to 4. Pure: the store looks up the facts. */
#pragma once

#include "base/check.h"
#include "domain/cap.h"
#include "domain/event.h"

/* The facts that a store has looked up for a candidate. */
struct rules_facts {
    int64_t received_ms;
    int64_t last_accepted_ms; /* of the last accepted event, see acceptance_times.h */
    uint64_t last_event_no;   /* of the account */
    /* An event has the candidate's key; then nothing after known_event_no is looked up. */
    bool is_known;
    uint64_t known_content;
    uint64_t known_event_no;
    /* Disqualification payments of this (app, panelist) that count for the cap, see cap.h; if
     * rules_needs_payments(). */
    struct payments paid;
    /* By OriginalRewardId, if rules_needs_original(); NULL: not found. */
    const struct event *original;
    bool is_original_reversed; /* by an earlier event */
};

/* Which facts a new candidate needs. */
bool rules_needs_payments(const struct candidate *c);
bool rules_needs_original(const struct candidate *c);
/* Fills `ret_event` if the verdict is VERDICT_ACCEPTED. Texts borrow from the candidate (and
 * `original`); the body stays absent, see payload.h. */
struct verdict rules_decide(const struct candidate *c, const struct rules_facts *facts,
                            struct event *ret_event);

/* An item's reward: its own, or by the app's ratio. False: out of range, or an ad_hoc without one.
 * Intake refuses such an item (rules_decide asserts it). Not for reversals, nor for
 * disqualifications without a Reward of their own. */
MUST_CHECK bool rules_reward(const struct candidate *c, int64_t *ret_reward_micros);
