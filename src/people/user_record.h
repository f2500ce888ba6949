/* Users and their sessions, as everybody reads them: immutable, reference-counted entries like
 * those of accounts.h. A change makes a new entry, which takes the old one's place after it is
 * durable. */
#pragma once

#include "accounts/vault.h"
#include "people/mail_choice.h"
#include "people/password.h"
#include "people/roles.h"
#include "people/totp.h"

#define USER_MAGIC 0x9e091001u
#define SESSION_MAGIC 0x9e091002u

#define SESSIONS_PER_USER 20
#define SESSION_USED_LAG_MS (10 * 60 * 1000)
#define SESSION_IDLE_MS ((int64_t)12 * 3600 * 1000)
#define SESSION_AGE_MS ((int64_t)14 * 24 * 3600 * 1000)
#define AGENT_BYTES_KEPT 200
#define TOKEN_BYTES 43 /* base64url of 32 random bytes: of sessions and of one-time links */

enum link_kind { LINK_NONE, LINK_INVITATION, LINK_RESET, LINK_SET_UP };

struct user {
    uint32_t magic;
    atomic_uint refs;
    uint32_t user_no;    /* given once, grows: the order of lists */
    uint32_t account_no; /* 0: an operator's */
    uint64_t version;
    bool enabled;
    enum role role;
    int64_t created_ms, last_sign_in_ms; /* last: 0, never */
    bool under_second_key; /* the stored document is sealed under the vault's second key */
    struct str id, email, name;
    struct str issuer, subject; /* who it is at an identity provider; absent: nobody there */
    struct str password;        /* password_hash; absent: none has been set */
    struct str totp_secret;     /* absent: no second factor */
    struct used_once totp_used; /* the steps of codes */
    struct str recovery;        /* of the codes not used yet: 32 bytes each, SHA-256 */
    struct str passkeys;        /* JSON, see passkey.h; absent: none */
    uint32_t passkey_count;
    enum link_kind link; /* the one-time link that is out */
    uint8_t link_hash[32];
    int64_t link_until_ms;
    int64_t link_made_ms;  /* names it; see user_begin_link */
    int64_t mail_owed_ms;  /* wall: since when the link is to go out by e-mail; 0: it is not */
    int64_t reset_mail_ms; /* wall: since when a mail is owed that says that somebody has reset the
                            * second factor; 0: none is */
    struct str link_by;    /* UserId of who made it; absent: no person did */
    enum mail_when mail[MAIL_ABOUTS]; /* what the person gets by e-mail */
    int64_t links_from_ms; /* links that this person has made before it are over; 0: none */
};

struct session {
    uint32_t magic;
    atomic_uint refs;
    struct str id, user_id;
    uint8_t hash[32]; /* SHA-256 of its token: 256 random bits, no salt needed */
    int64_t created_ms;
    int64_t stored_used_ms; /* as the store knows it: late by SESSION_USED_LAG_MS at most */
    atomic_llong used_ms;   /* the last request; only in memory */
    uint32_t acting_no;     /* the account that an operator looks at as its partner; 0: none */
    struct str address;     /* who signed in, as text */
    struct str agent;       /* User-Agent, cut; absent: none */
};

/* Copies of a filled-in template with one reference; texts may be borrowed from anywhere. */
struct user *user_pack(const struct user *from);
struct session *session_pack(const struct session *from);
void user_unref(struct user *u); /* NULL: nothing */
void session_unref(struct session *s);

/* Whether there are such messages for people of its account and role: of statements for a partner's
 * people, of the books for admins. */
bool user_has_mail(const struct user *u, enum mail_about about);
/* What the user has chosen of them; never where the user is disabled or there are none. */
enum mail_when user_wants_mail(const struct user *u, enum mail_about about);

const char *link_kind_name(enum link_kind kind); /* of the wire */
/* Gives the user a new link, an invitation where there is no password yet; its token is made
 * afterwards. by: UserId of who asked for it; absent: no person did, or the user alone.
 * links_from_ms: theirs. link_made_ms is later than now if that or the link before is, as a clock
 * that was ahead leaves them: otherwise the new link would be over at once. */
void user_begin_link(struct user *next, struct str by, int64_t links_from_ms, int64_t now_ms);
/* For who gets another role or is disabled: the links that this person has made are over, and so is
 * the one to this person, whoever made it. */
void user_end_links(struct user *next, int64_t now_ms);
/* Whether the link still opens what it was made for. A link ends with its maker's right to make
 * links, so that nobody who has lost that right (removed, disabled, another role) comes back in by
 * a link of their own. The link stays ended when its maker is enabled again (links_from_ms).
 * maker: the user link_by; NULL: there is none. */
bool user_link_is_good(const struct user *u, const struct user *maker, int64_t now_ms);

/* A session's or a link's token: its text, and what is kept of it. */
void token_make(struct env *env, char ret_text[TOKEN_BYTES + 1], uint8_t ret_hash[32]);
void token_hash(struct str text, uint8_t ret_hash[32]);
/* What a page sends back to show that it is no other site's: bound to the session's token, and
 * telling nothing of it. */
void csrf_token_of(struct str session_token, char ret_text[TOKEN_BYTES + 1]);

/* As the store keeps them. The TOTP secret is sealed under the master key. */
void user_print_document(struct buf *to, const struct user *u, const struct vault *vault,
                         struct env *env);
void session_print_document(struct buf *to, const struct session *s);
struct json;
/* A new entry with one reference. On failure *ret_why is a sentence without any secret. */
MUST_CHECK bool user_read_document(struct arena *arena, const struct json *document,
                                   const struct vault *vault, struct user **ret,
                                   struct str *ret_why);
MUST_CHECK bool session_read_document(struct arena *arena, const struct json *document,
                                      struct session **ret, struct str *ret_why);
