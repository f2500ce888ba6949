/* A sign-in between its two halves: the browser leaves for an identity provider and comes back, or
 * its authenticator signs a challenge. Nothing is kept here: a cookie of the browser names the
 * flow, and what only this service may know or make up is derived from it and the master key. So a
 * flow outlives a restart and may end on another node. */
#pragma once

#include "people/people.h"

#define SIGN_IN_FLOW_MS (10 * 60 * 1000)
#define SIGN_IN_FLOW_BYTES_MOST 192

struct sign_in_flow {
    char state[TOKEN_BYTES + 1];    /* goes to the provider and comes back: only with this cookie */
    char nonce[TOKEN_BYTES + 1];    /* comes back in the ID token, or signed by a passkey */
    char verifier[TOKEN_BYTES + 1]; /* of PKCE (RFC 7636) */
    struct str way; /* the provider's key, or what a passkey is for; borrowed from the cookie */
    struct str begun_by; /* what the session that adds a passkey or links an identity is known by;
                          * empty: nobody is signed in yet */
    int64_t until_ms;
};

/* The cookie's text, in the arena. Any thread. */
struct str sign_in_flow_make(struct people *people, struct arena *arena, struct str way,
                             struct str begun_by);
/* False: no flow of ours, or over. Any thread. */
MUST_CHECK bool sign_in_flow_read(struct people *people, struct str cookie,
                                  struct sign_in_flow *ret);
/* What the provider is told of the verifier. */
void sign_in_flow_challenge(const struct sign_in_flow *flow, char ret[TOKEN_BYTES + 1]);
