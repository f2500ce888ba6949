/* What the routes of sessions and one-time links share: reading and checking passwords and
 * codes. */
#pragma once

#include "api/people_job.h"
#include "api/tries.h"

#define PASSWORD_BYTES_MOST 512 /* 128 characters of 4 bytes */

/* True if the account's people may sign in by password or passkey; some accounts allow only their
 * provider. */
MUST_CHECK bool sign_in_by_password(struct api *api, uint32_t account_no);
/* Called after the identity is proved. False: the account is disabled, or allows no password and no
 * passkey. Then the job is refused with 403, and job->reason says why. */
MUST_CHECK bool sign_in_is_open(struct people_job *job, uint32_t account_no);
#define SIGN_IN_NO_PASSWORDS                                                                       \
    "Passwords and passkeys are off for this account. Use the button of your identity provider."

/* Answers 403 if another site's page may have sent the request. */
MUST_CHECK bool sign_in_same_origin(struct call *c);
/* Reads a required text member of `least` to `most` bytes. */
void sign_in_text(struct people_job *job, const char *name, size_t least, size_t most,
                  struct str *ret);
/* Reads the members Password, which is required, and Code. */
void sign_in_read_proof(struct people_job *job);
/* The same for a body without other members. */
void sign_in_read_proof_alone(struct people_job *job, bool needs_code);
/* Reads an e-mail address, in lower case for comparison, into the arena. Adds faults as for any
 * field. */
void sign_in_email(struct people_job *job, const char *name, struct str *ret);
/* Adds a fault if the text may not be a new password. */
void sign_in_new_password(struct people_job *job, const char *name, struct str password,
                          struct str email);

/* On the worker for slow calls: hashes a user's new password into job->new_hash (user_id absent: no
 * user yet). Users with one Email in several accounts share a salt: then checking a wrong password
 * takes the same time for any number of accounts, and a stranger does not learn the number. If two
 * of them set their first passwords at the same moment (on two nodes, or before either is stored),
 * there are two salts until one of them signs in by it or sets another password. */
void sign_in_hash_password(struct people_job *job, struct str password, struct str email,
                           struct str user_id);

/* True if the code is the user's next one, or an unused recovery code. `to`: a copy of the user in
 * which the code counts as used; texts are in the arena. */
MUST_CHECK bool sign_in_take_code(const struct user *user, struct str code, int64_t now_ms,
                                  struct arena *arena, struct user *to);

/* On the worker for slow calls: true if job->password is the signed-in person's. */
MUST_CHECK bool sign_in_own_password(struct people_job *job);
/* If the user has a second factor: checks job->code, which then counts as used in *next. False: the
 * job is refused. */
MUST_CHECK bool sign_in_second_factor(struct people_job *job, struct user *next);
/* The same if nothing else of the user changes: job->change marks the code as used. */
MUST_CHECK bool sign_in_use_code(struct people_job *job);
/* Counts the wrong code, and refuses the job. Returns false. */
bool sign_in_wrong_code(struct people_job *job);

/* For routes of the session itself, on the control thread: reads user and session again. False:
 * they are gone; refused with 401. */
MUST_CHECK bool sign_in_refresh(struct people_job *job);
/* Changes the session's token. */
void sign_in_rotate_session(struct people_job *job);
/* Stores *next as the new version of the signed-in user, and changes the session's token. */
void sign_in_change_self(struct people_job *job, struct user *next);
/* The object of GET /api/v1/session after the change. */
void sign_in_render_session(struct people_job *job, struct json_writer *w);
