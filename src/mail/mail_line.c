/* See mail_line.h. */
#include "mail/mail_line.h"

#include "base/plain_text.h"

void mail_print_named(struct buf *to, const char *label, struct str name, struct str id)
{
    buf_printf(to, "%s: ", label);
    plain_text_print(to, name);
    buf_printf(to, " (%.*s)\n", STR_ARG(id));
}
