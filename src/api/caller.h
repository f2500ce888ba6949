/* Who asks, and whether they may: one judgement for every route.
 *
 * A request's head may come a minute before its body, and a change waits for those before it. So
 * the caller is judged three times: when the headers are in, when the body is, and on the control
 * thread right before a change is decided, on the state that the change is committed on
 * (call_judge_anew). What has been revoked meanwhile is refused, whatever the request looked like
 * at first. */
#pragma once

#include "api/call.h"

/* Looks the key or the session up anew, fills in who asks, and judges: 401, 503 where this node
 * cannot know, 403. False: c->refusal says so. Public routes are for everybody. Any thread that has
 * the call. */
MUST_CHECK bool caller_judge(struct call *c);
/* Answers with c->refusal. */
void caller_answer_refusal(struct call *c);
