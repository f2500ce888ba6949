/* A signed cookie for a browser in which a user has signed in before. It gives no access; it only
 * shows that a sign-in as that user does not come from a stranger. */
#pragma once

#include "people/people.h"

#define DEVICE_ID_BYTES 22 /* base64url of 16 random bytes */
#define DEVICE_TOKEN_BYTES (DEVICE_ID_BYTES + 1 + TOKEN_BYTES)

/* A new token for the user, with NUL. Any thread. */
void device_make(struct people *people, struct str user_id, char ret_token[DEVICE_TOKEN_BYTES + 1]);
/* True if the token was made here for that user. Any thread. */
MUST_CHECK bool device_is_of(struct people *people, struct str token, struct str user_id);
