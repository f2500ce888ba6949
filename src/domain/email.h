/* E-mail addresses, checked only as far as a mail server needs it. */
#pragma once

#include "base/arena.h"

#define EMAIL_BYTES_MAX 254 /* RFC 5321, section 4.5.3.1.3, without the angle brackets */

/* name@domain without blanks, control characters and angle brackets. */
bool email_valid(struct str text);
/* The form for storing and comparing: ASCII in lower case. In the arena. */
struct str email_lower(struct arena *arena, struct str text);
