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

/* True if a try is left for this account (an Email, or the UserId of a signed-in person). Otherwise
 * refuses the job with 429. */
MUST_CHECK bool tries_left(struct people_job *job, struct str account);
/* Counts a failed try. If it was the last one, adds a note about job->user to the audit log. */
void tries_failed(struct people_job *job, struct str account);
/* The person has proved their identity: forgets the failed tries, except the address's. */
void tries_forgive(struct people_job *job, struct str account);

/* Takes one e-mail from the number that the account may have sent, or that the client's address may
 * ask for. False: too many lately. */
MUST_CHECK bool tries_take_mail_of_account(struct people_job *job, uint32_t account_no);
MUST_CHECK bool tries_take_mail_of_site(struct people_job *job);

/* The same for guessed one-time links. */
MUST_CHECK bool tries_left_of_links(struct people_job *job);
void tries_failed_of_links(struct people_job *job);

/* The same for failed sign-ins by an identity provider. */
MUST_CHECK bool tries_left_of_providers(struct people_job *job);
void tries_failed_of_providers(struct people_job *job);
