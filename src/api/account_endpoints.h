/* Another node's question about the endpoints of an account, or of all. */
#pragma once

#include "api/internal.h"

/* Answered by store_answer, perhaps. Takes the reference of the app that is asked about. */
void account_endpoints_answer(struct api *api, struct executor *executor, int64_t question,
                              struct app *app, enum question_scope scope);
