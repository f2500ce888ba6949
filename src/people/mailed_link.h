/* One-time links that go out by e-mail. The store keeps only a hash of a link's token, and a mail
 * that is owed has to be written again after a restart: so these tokens are derived from the master
 * key, and who has the store without it has no link. */
#pragma once

#include "people/people.h"

/* Makes the token of the link that `next` has been given (id, link, link_made_ms), and the mail
 * with it is owed from now on. Any thread. */
void mailed_link_make(struct people *people, struct user *next, int64_t now_ms,
                      char ret_token[TOKEN_BYTES + 1]);
/* The token of the link whose mail is owed. False: it was made under another master key. Any
 * thread. */
MUST_CHECK bool mailed_link_token(struct people *people, const struct user *u,
                                  char ret_token[TOKEN_BYTES + 1]);

bool mailed_link_is_owed(const struct user *u);
/* That mail, or the one that says that the second factor was reset. */
bool user_mail_is_owed(const struct user *u);
/* How many mails are owed. Any thread. */
size_t people_mails_owed(struct people *people);
/* Whose mail goes first, asked under the lock of people. */
struct mail_turns {
    bool (*may_go)(void *context, const struct user *u);
    bool (*is_before)(void *context, const struct user *a, const struct user *b);
    void *context;
};
/* Of the users whose mail is owed and may go, whose turn it is: a reference; NULL: there is none.
 */
struct user *people_next_mail(struct people *people, const struct mail_turns *turns);
