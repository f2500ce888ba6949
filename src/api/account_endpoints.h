/* Answers a question of another node: how do the endpoints of one account, or of all accounts, do
 * on this node? */
#pragma once

#include "api/internal.h"

/* Answered by store_answer, perhaps. Takes the reference of the app that is asked about. */
void account_endpoints_answer(struct api *api, struct executor *executor, int64_t question,
                              struct app *app, enum question_scope scope);
