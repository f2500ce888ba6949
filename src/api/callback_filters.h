/* The filters of the log of callbacks, as the query of a request says them. */
#pragma once

#include "api/call.h"

/* By what came of the last attempt, of which no store has an index: the store lists what is not
 * delivered, and the asker picks. */
struct attempt_filter {
    bool picks;
    enum attempt_class class; /* ATTEMPT_OK: any failure */
    int status;               /* 0: any */
};

/* Fills in what the store is asked, but for bodies, position and limit; account_no only where appId
 * is given. Problems are added to the call. False: 404 was answered. */
MUST_CHECK bool callback_filters_read(struct call *c, struct callback_list *list,
                                      struct attempt_filter *attempt);
/* appId, where it is given. False: 404 was answered. */
MUST_CHECK bool call_parameter_app(struct call *c, uint32_t *account_no, uint32_t *app_no);
/* Whether what is being tried makes a difference to the list. */
bool callback_filters_need_tried(struct call *c, const struct callback_list *list);
bool attempt_filter_takes(const struct attempt_filter *filter, const struct callback_row *row);
