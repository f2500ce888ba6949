/* A sign-in by an identity provider between its two halves: the browser leaves for the provider and
 * comes back. Nothing is kept here: a cookie of the browser names the flow, and what only this
 * service may know or make up is derived from it and the master key. So a flow outlives a restart
 * and may end on another node. */
#pragma once

#include "people/people.h"

#define PROVIDER_FLOW_MS (10 * 60 * 1000)
#define PROVIDER_FLOW_BYTES_MOST 192

struct provider_flow {
    char state[TOKEN_BYTES + 1];    /* goes to the provider and comes back: only with this cookie */
    char nonce[TOKEN_BYTES + 1];    /* comes back in the ID token */
    char verifier[TOKEN_BYTES + 1]; /* of PKCE (RFC 7636) */
    struct str provider;            /* its key; borrowed from the cookie */
    struct str user_id;             /* who was signed in at the start; empty: nobody */
};

/* The cookie's text, in the arena. Any thread. */
struct str provider_flow_make(struct people *people, struct arena *arena, struct str provider,
                              struct str user_id);
/* False: no flow of ours, or over. Any thread. */
MUST_CHECK bool provider_flow_read(struct people *people, struct str cookie,
                                   struct provider_flow *ret);
/* What the provider is told of the verifier. */
void provider_flow_challenge(const struct provider_flow *flow, char ret[TOKEN_BYTES + 1]);
