/* Reads the filters of the callback log from the query of a request. The names of the parameters
 * that the route accepts are in api/routes.c (p_callbacks). */
#pragma once

#include "api/call.h"

/* Selects callbacks by the result of the last attempt. No store has an index for that: the store
 * lists callbacks that are not delivered, and attempt_filter_takes is called for each. */
struct attempt_filter {
    bool picks;               /* false: every callback is taken */
    enum attempt_class class; /* ATTEMPT_OK: any failure */
    int status;               /* 0: any */
};

/* Fills in *list except its bodies, position and limit. account_no is set only if appId is given.
 * Problems are added to the call. False: 404 was answered. */
MUST_CHECK bool callback_filters_read(struct call *c, struct callback_list *list,
                                      struct attempt_filter *attempt);
/* Looks up an app of the call's account, or any app for an operator without an account. False: 404
 * was answered. */
MUST_CHECK bool call_find_app(struct call *c, struct str app_id, uint32_t *ret_account_no,
                              uint32_t *ret_app_no);
/* Looks up the app of the parameter appId, if it is given. False: 404 was answered. */
MUST_CHECK bool call_parameter_app(struct call *c, uint32_t *account_no, uint32_t *app_no);
/* True if the list depends on which callbacks are being tried at the moment. */
bool callback_filters_need_tried(struct call *c, const struct callback_list *list);
bool attempt_filter_takes(const struct attempt_filter *filter, const struct callback_row *row);
