/* The signed name of a browser in which somebody has signed in before: a cookie that opens nothing,
 * and shows that whoever signs in as that user is no stranger. */
#pragma once

#include "people/people.h"

#define DEVICE_ID_BYTES 22 /* base64url of 16 random bytes */
#define DEVICE_TOKEN_BYTES (DEVICE_ID_BYTES + 1 + 43)

/* A new one for the user, with NUL. Any thread. */
void device_make(struct people *people, struct str user_id, char ret_token[DEVICE_TOKEN_BYTES + 1]);
/* Whether it was made here for that user. Any thread. */
MUST_CHECK bool device_is_of(struct people *people, struct str token, struct str user_id);
