/* What the routes of sessions and one-time links share: reading and checking passwords and
 * codes. */
#pragma once

#include "api/people_job.h"
#include "api/tries.h"

#define PASSWORD_BYTES_MOST 512 /* 128 characters of 4 bytes */

/* Whether the people of the account may sign in by password or passkey: of some only their provider
 * says who they are. */
MUST_CHECK bool sign_in_by_password(struct api *api, uint32_t account_no);
/* Whoever has shown who they are: whether the account is enabled and lets them in by password or
 * passkey. Else the job is refused with 403, and job->reason says why. */
MUST_CHECK bool sign_in_is_open(struct people_job *job, uint32_t account_no);
#define SIGN_IN_NO_PASSWORDS                                                                       \
    "Passwords and passkeys are off for this account. Use the button of your identity provider."

/* Answers 403 where another site's page may have sent the request. */
MUST_CHECK bool sign_in_same_origin(struct call *c);
/* A member of the body that must be there, a text of at most `most` bytes. */
void sign_in_text(struct people_job *job, const char *name, size_t least, size_t most,
                  struct str *ret);
/* The members Password, which is required, and Code. */
void sign_in_read_proof(struct people_job *job);
/* The same of a body that may have no others. */
void sign_in_read_proof_alone(struct people_job *job, bool needs_code);
/* Lower-case, in the arena: addresses are compared so. Faults as of any field. */
void sign_in_email(struct people_job *job, const char *name, struct str *ret);
/* Faults where the text may not be a new password. */
void sign_in_new_password(struct people_job *job, const char *name, struct str password,
                          struct str email);

/* On the worker for slow calls: makes job->new_hash of a new password of that user (absent: of
 * nobody yet). Users of one Email in several accounts share a salt, so a wrong password takes as
 * long however many there are, and a stranger does not learn their number by it. Where two of them
 * set their first passwords at the same moment (on two nodes, or one before the other's is stored)
 * there are two salts, until one of them signs in by it or sets another. */
void sign_in_hash_password(struct people_job *job, struct str password, struct str email,
                           struct str user_id);

/* Whether the code is the user's next one, or a recovery code not used yet; `to` is a copy of the
 * user in which it counts as used. Texts are the arena's. */
MUST_CHECK bool sign_in_take_code(const struct user *user, struct str code, int64_t now_ms,
                                  struct arena *arena, struct user *to);

/* On the worker for slow calls: whether job->password is that of who is signed in. */
MUST_CHECK bool sign_in_own_password(struct people_job *job);
/* Where the user has a second factor: whether job->code is right; it counts as used in *next. Else
 * the job is refused. */
MUST_CHECK bool sign_in_second_factor(struct people_job *job, struct user *next);
/* The same where nothing else of the user changes: in job->change the code counts as used. */
MUST_CHECK bool sign_in_use_code(struct people_job *job);
/* Counts it, and refuses the job; false. */
bool sign_in_wrong_code(struct people_job *job);

/* The session's own routes: the user and the session as they are now. False: refused with 401,
 * they are gone. On the control thread. */
MUST_CHECK bool sign_in_refresh(struct people_job *job);
/* Changes the session's token. */
void sign_in_rotate_session(struct people_job *job);
/* Changes the signed-in user to *next, of the next version, and the session's token. */
void sign_in_change_self(struct people_job *job, struct user *next);
/* The object of GET /api/v1/session after the change. */
void sign_in_render_session(struct people_job *job, struct json_writer *w);
