/* Texts of the mails with one-time links: link_mail.c. */
#pragma once

#include "accounts/directory.h"
#include "people/people.h"

/* partner: the user's; NULL: the user is an operator. public_url: of the dashboard. */
void link_text_print(struct buf *to, const struct user *u, const struct partner *partner,
                     struct str public_url, const char *token);
void link_text_print_reset(struct buf *to, const struct user *u, const struct partner *partner,
                           struct str public_url);
struct str link_text_subject(const struct user *u, bool is_reset);
