/* E-mail addresses of people, of partners and of the operator. */
#pragma once

#include "base/arena.h"

#define EMAIL_BYTES_MAX 254 /* RFC 5321, section 4.5.3.1.3, without the angle brackets */

/* NULL: the address is valid. Otherwise what is wrong, to follow the field's name in a sentence.
 * Valid is a Dot-string and a Domain of RFC 5321, section 4.1.2, in ASCII: other letters need a
 * server with SMTPUTF8 (RFC 6531), which is rare. Quoted names and addresses in brackets are
 * refused: nobody uses them, and every place that prints a header would have to escape quotes and
 * commas. */
const char *email_fault(struct str text);
/* The form for storing and comparing: ASCII in lower case. In the arena. */
struct str email_lower(struct arena *arena, struct str text);
