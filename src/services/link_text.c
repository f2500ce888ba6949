/* See link_text.h. */
#include "services/link_text.h"

#include "domain/clock.h"
#include "mail/mail_line.h"

static void print_partner(struct buf *to, const struct partner *p)
{
    if (p)
        mail_print_named(to, "Account", p->name, p->id);
}

void link_text_print(struct buf *to, const struct user *u, const struct partner *partner,
                     struct str public_url, const char *token)
{
    struct str url = str_trim_end(public_url, '/');
    buf_add_c(to, u->link == LINK_INVITATION
                      ? "You are invited to sign in. Choose a password here:\n\n"
                      : "Choose a new password here:\n\n");
    buf_printf(to, "%.*s/link#%s\n\n", STR_ARG(url), token);
    print_partner(to, partner);
    buf_printf(to, "User: %.*s\nGood once, until: ", STR_ARG(u->email));
    clock_print(to, u->link_until_ms);
    buf_add_c(to, "\n\nWhoever has this link can choose the password, so do not pass it on. "
                  "If you did not expect it, you can ignore this mail: nothing changes.\n");
}

void link_text_print_reset(struct buf *to, const struct user *u, const struct partner *partner,
                           struct str public_url)
{
    struct str url = str_trim_end(public_url, '/');
    buf_add_c(to, "Somebody who may manage users has reset your second factor: codes, recovery "
                  "codes and passkeys no longer sign in, and your password alone does. Set up a "
                  "new second factor here:\n\n");
    buf_printf(to, "%.*s/account\n\n", STR_ARG(url));
    print_partner(to, partner);
    buf_printf(to, "User: %.*s\nReset: ", STR_ARG(u->email));
    clock_print(to, u->reset_mail_ms);
    buf_add_c(to, "\n\nIf you did not ask for this, choose a new password at once, and tell "
                  "whoever manages the users of your account.\n");
}

struct str link_text_subject(const struct user *u, bool is_reset)
{
    return is_reset                     ? STR("Your second factor was reset")
           : u->link == LINK_INVITATION ? STR("Your invitation")
                                        : STR("Your new password");
}
