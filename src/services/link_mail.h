/* Sends one-time links (invitations, new passwords) by e-mail, and tells users that their second
 * factor was reset. The user's record says that a mail is owed (people/mailed_link.h), so a crash
 * does not lose it. It is tried for at most 24 hours, until the mail server takes it or refuses it
 * for good. It is given up when the link is used, replaced or over, or the user is disabled. It may
 * arrive twice. Accounts take turns, one mail of each at a time; of several nodes that share a
 * store, the first one sends. */
#pragma once

#include "mail/mailer.h"
#include "oidc/oidc.h"
#include "people/people.h"
#include "services/control.h"

struct link_mail;

/* Texts must outlive it. */
struct link_mail_options {
    struct env *env;
    struct store *store;
    struct control *control;
    struct people *people;
    struct directory *directory;
    struct oidc *oidc;     /* no links for accounts without passwords */
    struct mailer *mailer; /* NULL: no link is mailed */
    struct str public_url; /* of the dashboard; absent: no link is mailed, because nothing else
                              gives a reliable address */
};

struct link_mail *link_mail_new(const struct link_mail_options *options);
/* True if links are mailed at all, and to the people of that account. Any thread. */
bool link_mail_works(const struct link_mail *lm);
bool link_mail_works_for(const struct link_mail *lm, uint32_t account_no);
/* For a forgotten password: each enabled user with that Email and a password gets a link to choose
 * a new one, at most once in half an hour. A valid link is not replaced: a mailed one is mailed
 * again, a handed-over one is not. The caller learns nothing about such users, not even by the time
 * it takes. Any thread, never blocks. */
void link_mail_request(struct link_mail *lm, struct str email, const struct address *peer);
/* On the main thread, often. */
void link_mail_step(struct link_mail *lm);
/* Waits for the mails whose text the server has (mailer_abort), and records their results; no other
 * mail begins. On the main thread, once, before control_free. */
void link_mail_stop(struct link_mail *lm);
void link_mail_free(struct link_mail *lm); /* after control_free and mailer_free; NULL: nothing */

struct link_mail_numbers {
    int64_t sent, failed, given_up, owed;
};
void link_mail_get_numbers(struct link_mail *lm, struct link_mail_numbers *ret); /* any thread */
