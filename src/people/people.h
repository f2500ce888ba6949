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

/* One document as the store keeps it; at start, in any order. On failure *ret_why is a sentence in
 * the arena. */
MUST_CHECK bool people_load(struct people *people, struct arena *arena, enum object_kind kind,
                            struct str id, struct str document, struct str *ret_why);
/* One document as another process has left it (absent: it is gone), on the thread of changes. */
MUST_CHECK bool people_refresh(struct people *people, struct arena *arena, enum object_kind kind,
                               struct str id, struct str document, struct str *ret_why);
/* After the last one, until it is false: takes one user without its account, or one session without
 * its user, out again. */
MUST_CHECK bool people_leave_out_orphan(struct people *people, struct directory *directory,
                                        struct arena *arena, enum object_kind *ret_kind,
                                        struct str *ret_id, struct str *ret_why);

/* --- look-ups; each gives a reference, or NULL ----------------------------------------------- */
struct user *people_user(struct people *people, struct str id);
/* The email is lower-case. */
struct user *people_user_by_email(struct people *people, uint32_t account_no, struct str email);
/* Who it is at that identity provider. */
struct user *people_user_by_subject(struct people *people, uint32_t account_no, struct str issuer,
                                    struct str subject);
/* Those of all accounts who may sign in with it, a reference each. Beyond EMAIL_ACCOUNTS_MOST
 * nobody is found: each is a password to be stretched. */
#define EMAIL_ACCOUNTS_MOST 8
size_t people_users_by_email(struct people *people, struct str email,
                             struct user *ret[EMAIL_ACCOUNTS_MOST]);
/* Of those with this Email, enabled or not, the first one that has a password; not who has but_id.
 */
struct user *people_first_with_password(struct people *people, struct str email, struct str but_id);
/* Whose one-time link this is, while it is good. */
struct user *people_user_by_link(struct people *people, const uint8_t hash[32], int64_t now_ms);
struct session *people_session(struct people *people, struct str id);
/* The session of this token and its enabled user, where it has not run out. */
struct session *people_session_by_token(struct people *people, struct str token, int64_t now_ms,
                                        struct user **ret_user);

/* How many the account has (0: the operator), disabled or not. */
size_t people_count_users(struct people *people, uint32_t account_no);
/* Newest first: users with numbers below before_no (0: from the newest), a reference each. */
size_t people_list_users(struct people *people, uint32_t account_no, uint32_t before_no,
                         struct user **ret, size_t limit);
/* All of a user's that have not run out, most recently used first. A reference each. */
size_t people_list_sessions(struct people *people, struct str user_id, int64_t now_ms,
                            struct session *ret[SESSIONS_PER_USER]);
bool people_any(struct people *people);
/* Whether nobody else of its account could do what this user's role is needed for. */
bool people_is_last(struct people *people, const struct user *u);

void session_use(struct session *s, int64_t now_ms); /* notes that it was used */
/* Whether the store is to hear of that use: it is much later than the stored one, or that is of a
 * clock that was ahead. */
bool session_use_is_news(const struct session *s, int64_t used_ms);
bool session_is_over(const struct session *s, int64_t now_ms);

/* --- the first set-up ------------------------------------------------------------------------- */
/* A link's token for the first admin, good while there is no user: only in memory, each start has
 * a new one. */
void people_offer_set_up(struct people *people, char ret_token[TOKEN_BYTES + 1]);
/* When it runs out; 0: that is not its hash, or it has run out, or somebody is there by now. */
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
    struct user *user; /* its new state; NULL: none changes */
    bool remove_user;
    struct session *session; /* begun, or the new state of one */
    struct session *ended[SESSIONS_PER_USER * 2];
    size_t ended_count;
};

/* An id that nobody has: prefix "u_" or "s_". In the arena. */
struct str people_new_id(struct people *people, struct arena *arena, const char *prefix);
uint32_t people_next_no(struct people *people);

/* A session of the user begins; what he has too many of ends, and what has run out. */
void people_begin_session(struct people *people, struct people_change *change,
                          const struct user *user, struct str address, struct str agent,
                          char ret_token[TOKEN_BYTES + 1]);
/* The same session with another token, and acting for that account (0: for itself). */
void people_rotate_session(struct people *people, struct people_change *change,
                           const struct session *session, uint32_t acting_no,
                           char ret_token[TOKEN_BYTES + 1]);
/* The session, with its last use as the store is to know it. */
void people_note_use(struct people_change *change, const struct session *session);
/* All of the user's end, but for the one of that id (absent: all). */
void people_end_sessions(struct people *people, struct people_change *change, struct str user_id,
                         struct str but_id);
/* Takes the reference. */
void people_end_session(struct people_change *change, struct session *session);

/* The next user whose second factor only the vault's second key opens, to be sealed under its
 * first. False: there is none left. */
MUST_CHECK bool people_reseal(struct people *people, struct people_change *change);

/* The documents; texts are the change's arena's. Returns how many. */
size_t people_change_parts(struct people *people, struct people_change *change,
                           struct object_part ret_parts[PEOPLE_PARTS_MAX]);
void people_change_apply(struct people *people, const struct people_change *change);
void people_change_free(struct people_change *change);
