/* What sign-in by an identity provider shares with linking an identity (api/identity.c). */
#pragma once

#include "api/people_job.h"
#include "oidc/oidc.h"
#include "people/sign_in_flow.h"

#define PROVIDER_CODE_BYTES_MOST 4096

/* True if the state belongs to this browser's flow. Otherwise the code may be an attacker's, who
 * wants this browser to continue as the attacker. */
MUST_CHECK bool provider_flow_read(struct call *c, struct str state, struct sign_in_flow *ret);
/* The URL to which the provider sends the browser back; in the call's arena. */
struct str provider_return_url(struct call *c);
/* Prints the URL for the browser: the provider's endpoint with the parameters of the flow. */
void provider_print_url(struct buf *to, const struct oidc_ask *ask,
                        const struct sign_in_flow *flow);
/* Sets what the token request sends besides the code. */
void provider_set_flow(struct oidc_ask *ask, const struct sign_in_flow *flow);
/* The account whose people sign in with this provider. False: there is no such partner. */
MUST_CHECK bool provider_find_account(struct api *api, const struct oidc_client *client,
                                      uint32_t *ret_account_no);
/* Sends the browser back to the account page, which links the identity: with the code, or with a
 * word for what went wrong. */
void identity_return(struct call *c, struct str code, const char *problem);
/* Removes the identity from *next, which becomes the user of the job's change, adds an audit note,
 * and ends all sessions except that one. */
void identity_unlink(struct people_job *job, struct user *next, struct str but_session_id);
void provider_say_refused(struct people_job *job, const struct oidc_ask *ask);
