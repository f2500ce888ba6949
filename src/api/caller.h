/* Decides who the caller is and whether the request is allowed: caller_judge, for every route. The
 * scope that a route needs: api/routes.c. A key or a session becomes an account and its scopes
 * here; the text of a key is looked up by directory_key_by_text (accounts/accounts.h).
 *
 * The body may arrive a minute after the headers, and a change waits until earlier changes are
 * done. So the caller is judged up to three times: when the headers are complete, when the body is
 * complete, and on the control thread right before a change is decided (call_judge_anew). A key or
 * session that was revoked in between is refused. */
#pragma once

#include "api/call.h"

/* Looks up the key or session again, fills in the caller, and judges: 401, 503 if this node cannot
 * know, 403. False: see c->refusal. Public routes allow everybody. Any thread that has the call. */
MUST_CHECK bool caller_judge(struct call *c);
/* True if the account's keys and people are let in; the operator's (0) always are. Any thread. */
MUST_CHECK bool caller_account_enabled(struct api *api, uint32_t account_no);
#define CALLER_ACCOUNT_DISABLED "This partner's account is disabled; its operator can enable it."
/* Answers with c->refusal. */
void caller_answer_refusal(struct call *c);
