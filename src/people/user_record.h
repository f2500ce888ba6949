/* Users and their sessions: immutable, reference-counted entries like those of accounts.h. A change
 * makes a new entry, which replaces the old one after it is durable. */
#pragma once

#include "accounts/vault.h"
#include "people/mail_choice.h"
#include "people/password.h"
#include "people/roles.h"
#include "people/totp.h"

#define USER_MAGIC 0x9e091001u
#define SESSION_MAGIC 0x9e091002u

#define SESSIONS_PER_USER 20
#define SESSION_USED_LAG_MS (10 * MINUTE_MS)
#define SESSION_IDLE_MS (12 * HOUR_MS)
#define SESSION_AGE_MS (14 * DAY_MS)
#define AGENT_BYTES_KEPT 200
#define TOKEN_BYTES 43 /* base64url of 32 bytes: of sessions and of one-time links */

enum link_kind { LINK_NONE, LINK_INVITATION, LINK_RESET, LINK_SET_UP };

struct user {
    uint32_t magic;
    atomic_uint refs;
    uint32_t user_no;    /* never reused, growing: the order of lists */
    uint32_t account_no; /* 0: an operator's */
    uint64_t version;
    bool enabled;
    enum role role;
    int64_t created_ms, last_sign_in_ms; /* last: 0, never */
    bool under_second_key; /* the stored document is sealed under the vault's second key */
    struct str id, email, name;
    struct str issuer, subject; /* the identity at an identity provider; absent: none */
    struct str password;        /* from password_hash; absent: not set */
    struct str totp_secret;     /* absent: no second factor */
    struct used_once totp_used; /* the steps of codes */
    struct str recovery;        /* of unused codes: SHA-256, 32 bytes each */
    struct str passkeys;        /* JSON, see passkey.h; absent: none */
    uint32_t passkey_count;
    enum link_kind link; /* the present one-time link */
    uint8_t link_hash[32];
    int64_t link_until_ms;
    int64_t link_made_ms;  /* names it; see user_begin_link */
    int64_t mail_owed_ms;  /* wall: since when the link's mail is owed; 0: it is not */
    int64_t reset_mail_ms; /* wall: since when the mail about a reset second factor is owed; 0: it
                              is not */
    struct str link_by;    /* the maker's UserId; absent: no person */
    enum mail_when mail[MAIL_ABOUTS]; /* the person's choices */
    int64_t links_from_ms;            /* links made earlier by this person are invalid; 0: none */
};

struct session {
    uint32_t magic;
    atomic_uint refs;
    struct str id, user_id;
    uint8_t hash[32]; /* SHA-256 of its token: 256 random bits, no salt needed */
    int64_t created_ms;
    int64_t stored_used_ms; /* as stored: at most SESSION_USED_LAG_MS late */
    atomic_llong used_ms;   /* last request; only in memory */
    uint32_t acting_no;     /* the account that an operator acts for; 0: none */
    struct str address;     /* the client's address, as text */
    struct str agent;       /* User-Agent, cut; absent: none */
};

/* Copies of a filled-in template, with one reference and their own texts. */
struct user *user_pack(const struct user *from);
struct session *session_pack(const struct session *from);
void user_unref(struct user *u); /* NULL: nothing */
void session_unref(struct session *s);

/* True if people of the user's account and role can get such messages: statements are for partners'
 * people, books for admins. */
bool user_has_mail(const struct user *u, enum mail_about about);
/* The user's choice; never if the user is disabled or cannot get such messages. */
enum mail_when user_wants_mail(const struct user *u, enum mail_about about);

const char *link_kind_name(enum link_kind kind); /* of the wire */
/* Gives the user a new link, an invitation if there is no password yet; its token is made
 * afterwards. by: UserId of the maker; absent: no person, or the user alone. links_from_ms: the
 * maker's. If that or the former link is dated by a clock that was ahead, link_made_ms is later
 * than now: otherwise the new link would be invalid at once. */
void user_begin_link(struct user *next, struct str by, int64_t links_from_ms, int64_t now_ms);
/* For a user who is disabled or gets another role: ends the links made by this user, and the link
 * to this user, whoever made it. */
void user_end_links(struct user *next, int64_t now_ms);
/* True if the link is still valid. A link ends with its maker's right to make links, so that nobody
 * who lost that right (removed, disabled, another role) comes back by a link of their own. It stays
 * ended when the maker is enabled again (links_from_ms). maker: the user link_by; NULL: none. */
bool user_link_is_good(const struct user *u, const struct user *maker, int64_t now_ms);

/* A token of a session or link: its text, and the hash that is kept. */
void token_make(struct env *env, char ret_text[TOKEN_BYTES + 1], uint8_t ret_hash[32]);
void token_hash(struct str text, uint8_t ret_hash[32]);
/* A token that only the owner of this master key can make: a MAC of the label. */
void token_derive(const uint8_t key[MASTER_KEY_BYTES], char ret_text[TOKEN_BYTES + 1],
                  const char *label_fmt, ...) PRINTF_LIKE(3, 4);
/* Base64url of 32 bytes. */
void token_print(const uint8_t bytes[32], char ret_text[TOKEN_BYTES + 1]);
/* The token by which a page shows that it is not another site's: derived from the session's token,
 * and reveals nothing of it. */
void csrf_token_of(struct str session_token, char ret_text[TOKEN_BYTES + 1]);

/* The stored form. The TOTP secret is sealed under the master key. */
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
