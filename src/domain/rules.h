/* What an event is worth and what becomes of it: the decision at acceptance.
 * Contract, sections 2 to 4. Pure: the store looks things up and asks. */
#pragma once

#include "base/check.h"
#include "domain/cap.h"
#include "domain/event.h"

/* Fills everything of `ret_event` but account-local facts the store assigns (event_no). Text is
 * borrowed from the candidate (and `original`); body is left absent, see payload.h.
 *
 * paid: disqualification payments of this (app, panelist) that count for the cap, see cap.h;
 * looked up only when rules_needs_payments() says so, else empty.
 * original: the event named by OriginalRewardId on a reversal (NULL: not found), and whether it
 * has been reversed already. */
bool rules_needs_payments(const struct candidate *c);
struct verdict rules_decide(const struct candidate *c, const struct payments *paid,
                            const struct event *original, bool original_reversed,
                            int64_t accepted_ms, struct event *ret_event);

/* The reward an item would get by the app's ratio or its own Reward; false: out of range, or an
 * ad_hoc without one. Used at intake, which refuses such an item (rules_decide asserts
 * it); not for reversals, nor for disqualifications without a Reward of their own. */
MUST_CHECK bool rules_reward(const struct candidate *c, int64_t *ret_reward_micros);
