/* The lines of a mail that name things of a partner. */
#pragma once

#include "base/buf.h"

/* "LABEL: NAME (ID)". A name is the partner's own words; it stays within the line. */
void mail_print_named(struct buf *to, const char *label, struct str name, struct str id);
