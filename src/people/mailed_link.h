/* One-time links that are sent by e-mail. The store keeps only a hash of a link's token, but an
 * owed mail must be printed again after a restart. So these tokens are derived from the master key:
 * a stolen store without the key contains no link. */
#pragma once

#include "people/people.h"

/* Makes the token of the new link in `next` (id, link, link_made_ms), and marks its mail as owed.
 * Any thread. */
void mailed_link_make(struct people *people, struct user *next, int64_t now_ms,
                      char ret_token[TOKEN_BYTES + 1]);
/* The token of the link whose mail is owed. False: it was made under another master key. Any
 * thread. */
MUST_CHECK bool mailed_link_token(struct people *people, const struct user *u,
                                  char ret_token[TOKEN_BYTES + 1]);

bool mailed_link_is_owed(const struct user *u);
/* True if that mail is owed, or the mail about a reset second factor. */
bool user_mail_is_owed(const struct user *u);
/* The number of owed mails. Any thread. */
size_t people_mails_owed(struct people *people);
/* Decides whose mail is sent first; called under the lock of people. */
struct mail_turns {
    bool (*may_go)(void *context, const struct user *u);
    bool (*is_before)(void *context, const struct user *a, const struct user *b);
    void *context;
};
/* A reference to the next user whose mail is owed and may be sent; NULL: none. */
struct user *people_next_mail(struct people *people, const struct mail_turns *turns);
