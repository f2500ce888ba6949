/* All users and sessions of the installation, in memory. Any thread looks them up. Only the control
 * thread (services/control.h) changes them, after the change is durable. session_is_over decides
 * when a session has ended; the limits are in user_record.h. */
#pragma once

#include "people/user_record.h"
#include "store/store.h"

struct people_options {
    struct env *env;
    struct vault vault;
};

struct people;
struct people *people_new(const struct people_options *options);
void people_free(struct people *people);

/* Loads one stored document; at the start, in any order. On failure *ret_why is a sentence in the
 * arena. */
MUST_CHECK bool people_load(struct people *people, struct arena *arena, enum object_kind kind,
                            struct str id, struct str document, struct str *ret_why);
/* Takes over one document that another process has changed (absent: deleted), on the control
 * thread. */
MUST_CHECK bool people_refresh(struct people *people, struct arena *arena, enum object_kind kind,
                               struct str id, struct str document, struct str *ret_why);
/* Call it after the last document until it returns false: removes one user without an account, or
 * one session without a user. */
MUST_CHECK bool people_leave_out_orphan(struct people *people, struct directory *directory,
                                        struct arena *arena, enum object_kind *ret_kind,
                                        struct str *ret_id, struct str *ret_why);

/* --- look-ups; each gives a reference, or NULL ----------------------------------------------- */
struct user *people_user(struct people *people, struct str id);
/* The email is lower-case. */
struct user *people_user_by_email(struct people *people, uint32_t account_no, struct str email);
/* The user with this identity at an identity provider. */
struct user *people_user_by_subject(struct people *people, uint32_t account_no, struct str issuer,
                                    struct str subject);
/* References to the users of all accounts who may sign in with this Email. With more than
 * EMAIL_ACCOUNTS_MOST, the others are not found: each needs a slow check of its password. */
#define EMAIL_ACCOUNTS_MOST 8
size_t people_users_by_email(struct people *people, struct str email,
                             struct user *ret[EMAIL_ACCOUNTS_MOST]);
/* The oldest user with this Email and a password, enabled or not, except the one with but_id. */
struct user *people_first_with_password(struct people *people, struct str email, struct str but_id);
/* The user whose valid one-time link this is. */
struct user *people_user_by_link(struct people *people, const uint8_t hash[32], int64_t now_ms);
struct session *people_session(struct people *people, struct str id);
/* The session of this token and its enabled user, unless the session has ended. */
struct session *people_session_by_token(struct people *people, struct str token, int64_t now_ms,
                                        struct user **ret_user);

/* The number of the account's users (0: the operator's), disabled or not. */
size_t people_count_users(struct people *people, uint32_t account_no);
/* References to users with numbers below before_no (0: all), newest first. */
size_t people_list_users(struct people *people, uint32_t account_no, uint32_t before_no,
                         struct user **ret, size_t limit);
/* References to a user's sessions that have not ended, most recently used first. */
size_t people_list_sessions(struct people *people, struct str user_id, int64_t now_ms,
                            struct session *ret[SESSIONS_PER_USER]);
bool people_any(struct people *people);
/* True if the account has no other user who can do what this user's role is needed for. */
bool people_is_last(struct people *people, const struct user *u);

void session_use(struct session *s, int64_t now_ms); /* records the time of use */
/* True if that use must be stored: it is much later than the stored use, or the stored use was
 * dated by a clock that was ahead. */
bool session_use_is_news(const struct session *s, int64_t used_ms);
bool session_is_over(const struct session *s, int64_t now_ms);

/* --- the first set-up ------------------------------------------------------------------------- */
/* Makes the link token for the first admin, valid while there is no user. Only in memory: each
 * start makes a new one. */
void people_offer_set_up(struct people *people, char ret_token[TOKEN_BYTES + 1]);
/* When it expires; 0: wrong hash, expired, or there is a user by now. */
int64_t people_set_up_until_ms(struct people *people, const uint8_t hash[32], int64_t now_ms);

/* --- a second factor that has been begun, for a few minutes ------------------------------------
 */
void people_set_pending_factor(struct people *people, struct str session_id,
                               const uint8_t secret[TOTP_SECRET_BYTES], int64_t now_ms);
MUST_CHECK bool people_pending_factor(struct people *people, struct str session_id, int64_t now_ms,
                                      uint8_t ret_secret[TOTP_SECRET_BYTES]);

/* --- changes -----------------------------------------------------------------------------------
 */

#define PEOPLE_PARTS_MAX (SESSIONS_PER_USER * 2 + 2)

/* Zero-initialised: nothing changes. References are the change's. */
struct people_change {
    struct arena arena;
    struct user *user; /* its new state; NULL: unchanged */
    bool remove_user;
    struct session *session; /* a new one, or the new state of one */
    struct session *ended[SESSIONS_PER_USER * 2];
    size_t ended_count;
};

/* A new unique id in the arena: prefix "u_" or "s_". */
struct str people_new_id(struct people *people, struct arena *arena, const char *prefix);
uint32_t people_next_no(struct people *people);

/* Begins a session of the user. Ends sessions that have expired, and the least recently used beyond
 * the maximum. */
void people_begin_session(struct people *people, struct people_change *change,
                          const struct user *user, struct str address, struct str agent,
                          char ret_token[TOKEN_BYTES + 1]);
/* Gives the session another token; it then acts for that account (0: for itself). */
void people_rotate_session(struct people *people, struct people_change *change,
                           const struct session *session, uint32_t acting_no,
                           char ret_token[TOKEN_BYTES + 1]);
/* Adds the session's last use to the change. */
void people_note_use(struct people_change *change, const struct session *session);
/* Ends the user's sessions except the one with but_id (absent: all). */
void people_end_sessions(struct people *people, struct people_change *change, struct str user_id,
                         struct str but_id);
/* Takes the reference. */
void people_end_session(struct people_change *change, struct session *session);

/* Adds the next user whose second factor is sealed under the vault's second key, to be sealed under
 * the first one. False: there is none. */
MUST_CHECK bool people_reseal(struct people *people, struct people_change *change);

/* The change's documents; texts are in its arena. Returns their number. */
size_t people_change_parts(struct people *people, struct people_change *change,
                           struct object_part ret_parts[PEOPLE_PARTS_MAX]);
void people_change_apply(struct people *people, const struct people_change *change);
void people_change_free(struct people_change *change);
