/* A sign-in in two requests: between them the browser visits an identity provider, or its
 * authenticator signs a challenge. The server keeps nothing in between. A cookie in the browser
 * identifies the flow, and the flow's secrets are derived from the cookie and the master key. So a
 * flow survives a restart and may end on another node. */
#pragma once

#include "people/people.h"

#define SIGN_IN_FLOW_MS (10 * MINUTE_MS)
#define SIGN_IN_FLOW_BYTES_MOST 192

struct sign_in_flow {
    char state[TOKEN_BYTES + 1];    /* sent to the provider and back: valid only with this cookie */
    char nonce[TOKEN_BYTES + 1];    /* returned in the ID token, or signed by a passkey */
    char verifier[TOKEN_BYTES + 1]; /* of PKCE (RFC 7636) */
    struct str way; /* the provider's key, or the passkey's purpose; borrowed from the cookie */
    struct str begun_by; /* identifies the session that adds a passkey or links an identity; empty:
                            nobody is signed in */
    int64_t until_ms;
};

/* The cookie's text, in the arena. Any thread. */
struct str sign_in_flow_make(struct people *people, struct arena *arena, struct str way,
                             struct str begun_by);
/* False: it is not ours, or has expired. Any thread. */
MUST_CHECK bool sign_in_flow_read(struct people *people, struct str cookie,
                                  struct sign_in_flow *ret);
/* The challenge for the provider, from the verifier. */
void sign_in_flow_challenge(const struct sign_in_flow *flow, char ret[TOKEN_BYTES + 1]);
