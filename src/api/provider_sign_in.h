/* What signing in with an identity provider shares with linking an identity (api/identity.c). */
#pragma once

#include "api/people_job.h"
#include "oidc/oidc.h"
#include "people/sign_in_flow.h"

#define PROVIDER_CODE_BYTES_MOST 4096

/* Whether the state is that of this browser's flow: else the code may be of somebody else, who
 * wants this browser to go on as him. */
MUST_CHECK bool provider_flow_read(struct call *c, struct str state, struct sign_in_flow *ret);
/* Where the provider sends the browser back to; in the call's arena. */
struct str provider_return_url(struct call *c);
/* Where the browser goes: the endpoint that was asked for, with the parameters of the flow. */
void provider_print_url(struct buf *to, const struct oidc_ask *ask,
                        const struct sign_in_flow *flow);
/* What the code is asked with, beside the code itself. */
void provider_set_flow(struct oidc_ask *ask, const struct sign_in_flow *flow);
/* Whose people sign in there. False: there is no such partner. */
MUST_CHECK bool provider_find_account(struct api *api, const struct oidc_client *client,
                                      uint32_t *ret_account_no);
/* Back to the page of the account, to link: with the code, or with the word for what went wrong. */
void identity_return(struct call *c, struct str code, const char *problem);
/* *next is without its identity, in the job's change; sessions but that one end. */
void identity_unlink(struct people_job *job, struct user *next, struct str but_session_id);
void provider_say_refused(struct people_job *job, const struct oidc_ask *ask);
