/* E-mail addresses of people, of partners and of the operator. */
#pragma once

#include "base/arena.h"

#define EMAIL_BYTES_MAX 254 /* RFC 5321, section 4.5.3.1.3, without the angle brackets */

/* What is wrong with the text, for a sentence that begins with the field's name; NULL: nothing. It
 * is a Dot-string and a Domain of RFC 5321, section 4.1.2, in ASCII: other letters need a server
 * with SMTPUTF8 (RFC 6531), which most are not. Quoted names and addresses in brackets are refused:
 * nobody has them, and quotes and commas would have to be understood wherever a header is made. */
const char *email_fault(struct str text);
/* The form for storing and comparing: ASCII in lower case. In the arena. */
struct str email_lower(struct arena *arena, struct str text);
