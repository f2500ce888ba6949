/* Lines of a mail that name a partner's objects. */
#pragma once

#include "base/buf.h"

/* "LABEL: NAME (ID)". The partner has chosen the name: it must not break the line. */
void mail_print_named(struct buf *to, const char *label, struct str name, struct str id);
