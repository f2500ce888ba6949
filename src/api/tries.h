/* Limits wrong passwords, codes and links, so that they cannot be guessed, without letting a
 * stranger lock a person out.
 *
 * A failed try of a stranger is counted for the account together with the client's address, for
 * the address, and, with a much higher limit, for the account from all addresses. A browser with
 * the cookie of an earlier sign-in as the same user (people/device.h), and a person who is signed
 * in, are counted only by that device or session: failed tries of strangers do not affect them. */
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
