/* Decides what becomes of a reported event: accepted, duplicate, conflict, or rejected; and for an
 * accepted event its amounts and whether it owes a callback. Contract, sections 2 to 4.
 *
 * Pure: each store looks up the facts and calls acceptance_decide inside its commit, so that two
 * nodes cannot decide differently. A repeated EventId is a duplicate if the content hash is the
 * stored one (intake/content.h), else a conflict. Whether a new reversal is held back until its
 * original is final: life_accept (domain/callback_life.h). */
#pragma once

#include "base/check.h"
#include "domain/cap.h"
#include "domain/event.h"

/* The facts that a store has looked up for a candidate. */
struct acceptance_facts {
    int64_t received_ms;
    int64_t last_accepted_ms; /* of the last accepted event, see acceptance_times.h */
    uint64_t last_event_no;   /* of the account */
    /* An event has the candidate's key; then nothing after known_event_no is looked up. */
    bool is_known;
    uint64_t known_content;
    uint64_t known_event_no;
    /* Disqualification payments of this (app, panelist) that count for the cap, see cap.h; if
     * acceptance_needs_payments(). */
    struct payments paid;
    /* By OriginalRewardId, if acceptance_needs_original(); NULL: not found. */
    const struct event *original;
    bool is_original_reversed; /* by an earlier event */
};

/* Which facts a new candidate needs. */
bool acceptance_needs_payments(const struct candidate *c);
bool acceptance_needs_original(const struct candidate *c);
/* Fills `ret_event` if the verdict is VERDICT_ACCEPTED. Texts borrow from the candidate (and
 * `original`); the body stays absent, see payload.h. */
struct verdict acceptance_decide(const struct candidate *c, const struct acceptance_facts *facts,
                                 struct event *ret_event);

/* An item's reward: its own, or by the app's ratio. False: out of range, or an ad_hoc without one.
 * Intake refuses such an item (acceptance_decide asserts it). Not for reversals, nor for
 * disqualifications without a Reward of their own. */
MUST_CHECK bool acceptance_reward(const struct candidate *c, int64_t *ret_reward_micros);
