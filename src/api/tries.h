/* Slowing down who guesses passwords, codes and links, without a way for a stranger to keep a
 * person out.
 *
 * A stranger's wrong tries count against the account as tried from that address, against the
 * address, and, far more of them, against the account from everywhere. Who signs in with the cookie
 * of an earlier sign-in as the same user (people/device.h), or is signed in, is counted by that
 * alone: strangers' tries do not matter to them. */
#pragma once

#include "api/people_job.h"

void tries_new(struct api *api);
void tries_free(struct api *api);

/* Whether a try at this account (an Email, or a UserId of who is signed in) is left; refuses the
 * job with 429 else. */
MUST_CHECK bool tries_left(struct people_job *job, struct str account);
/* Counts a wrong one; what has no try left by it is noted in the audit log, about job->user. */
void tries_failed(struct people_job *job, struct str account);
/* They have proved who they are: the wrong tries before it are forgotten, but for the address's. */
void tries_forgive(struct people_job *job, struct str account);

/* Takes one of the e-mails that the account may have sent, or that may be asked for from where the
 * request came. False: too many lately. */
MUST_CHECK bool tries_take_mail_of_account(struct people_job *job, uint32_t account_no);
MUST_CHECK bool tries_take_mail_of_site(struct people_job *job);

/* The same for guesses of one-time links. */
MUST_CHECK bool tries_left_of_links(struct people_job *job);
void tries_failed_of_links(struct people_job *job);

/* And for sign-ins by an identity provider that come to nothing. */
MUST_CHECK bool tries_left_of_providers(struct people_job *job);
void tries_failed_of_providers(struct people_job *job);
