/* Answers another node's question about the health of this node's endpoints, of one account or of
 * all. */
#pragma once

#include "api/internal.h"

/* Answers by store_answer, unless the daemon is stopping. Takes over the reference to `app`. */
void account_endpoints_answer(struct api *api, struct executor *executor, int64_t question,
                              struct app *app, enum question_scope scope);
