/* Copies of records, links and tokens; see user_record.h. */
#include "people/user_record.h"

#include "accounts/entry.h"
#include "base/arithmetic.h"
#include "domain/clock.h"

#include <sodium.h>

#define INVITATION_MS (7 * DAY_MS)
#define RESET_MS DAY_MS

_Static_assert(offsetof(struct user, refs) == offsetof(struct partner, refs) &&
                   offsetof(struct session, refs) == offsetof(struct partner, refs),
               "entries begin alike");

struct user *user_pack(const struct user *from)
{
    static const size_t texts[] = {
        offsetof(struct user, id),       offsetof(struct user, email),
        offsetof(struct user, name),     offsetof(struct user, password),
        offsetof(struct user, recovery), offsetof(struct user, totp_secret),
        offsetof(struct user, link_by),  offsetof(struct user, issuer),
        offsetof(struct user, subject),  offsetof(struct user, passkeys),
    };
    return entry_pack(from, sizeof *from, USER_MAGIC, texts, ARRAY_LEN(texts));
}

struct session *session_pack(const struct session *from)
{
    static const size_t texts[] = {
        offsetof(struct session, id),
        offsetof(struct session, user_id),
        offsetof(struct session, address),
        offsetof(struct session, agent),
    };
    return entry_pack(from, sizeof *from, SESSION_MAGIC, texts, ARRAY_LEN(texts));
}

void user_unref(struct user *u)
{
    entry_unref(u);
}

void session_unref(struct session *s)
{
    entry_unref(s);
}

bool user_has_mail(const struct user *u, enum mail_about about)
{
    switch (about) {
    case MAIL_ABOUT_ENDPOINTS:
    case MAIL_ABOUT_CERTIFICATES: return true;
    case MAIL_ABOUT_STATEMENTS: return u->account_no != 0;
    case MAIL_ABOUT_BOOKS: return u->account_no == 0 && role_scopes(u->role) & SCOPE_ADMIN;
    }
    UNREACHABLE();
}

enum mail_when user_wants_mail(const struct user *u, enum mail_about about)
{
    return u->enabled && user_has_mail(u, about) ? u->mail[about] : MAIL_NEVER;
}

const char *link_kind_name(enum link_kind kind)
{
    switch (kind) {
    case LINK_NONE: break;
    case LINK_INVITATION: return "invitation";
    case LINK_RESET: return "reset";
    case LINK_SET_UP: return "set_up";
    }
    UNREACHABLE();
}

void user_begin_link(struct user *next, struct str by, int64_t links_from_ms, int64_t now_ms)
{
    next->link = next->password.p ? LINK_RESET : LINK_INVITATION;
    next->link_made_ms = int64_max(now_ms, int64_max(links_from_ms, next->link_made_ms + 1));
    next->link_until_ms = now_ms + (next->link == LINK_RESET ? RESET_MS : INVITATION_MS);
    next->link_by = by;
    next->mail_owed_ms = 0;
}

void user_end_links(struct user *next, int64_t now_ms)
{
    next->links_from_ms = now_ms + 1;
    next->link = LINK_NONE;
    next->link_by = STR_NONE;
}

bool user_link_is_good(const struct user *u, const struct user *maker, int64_t now_ms)
{
    if (u->link == LINK_NONE || !u->enabled || now_ms >= u->link_until_ms)
        return false;
    if (!u->link_by.p)
        return true;
    return maker && maker->enabled && role_scopes(maker->role) & SCOPE_PEOPLE_WRITE &&
           u->link_made_ms >= maker->links_from_ms;
}

void token_print(const uint8_t bytes[32], char ret_text[TOKEN_BYTES + 1])
{
    sodium_bin2base64(ret_text, TOKEN_BYTES + 1, bytes, 32,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

void token_hash(struct str text, uint8_t ret_hash[32])
{
    crypto_hash_sha256(ret_hash, (const unsigned char *)(text.p ? text.p : ""), text.n);
}

void token_make(struct env *env, char ret_text[TOKEN_BYTES + 1], uint8_t ret_hash[32])
{
    uint8_t random[32];
    env_random(env, random, sizeof random);
    token_print(random, ret_text);
    token_hash((struct str){ret_text, TOKEN_BYTES}, ret_hash);
    sodium_memzero(random, sizeof random);
}

void token_derive(const uint8_t key[MASTER_KEY_BYTES], char ret_text[TOKEN_BYTES + 1],
                  const char *label_fmt, ...)
{
    uint8_t bytes[VAULT_DERIVED_BYTES];
    struct buf label = {0};
    va_list ap;
    va_start(ap, label_fmt);
    buf_vprintf(&label, label_fmt, ap);
    va_end(ap);
    vault_derive(key, buf_str(&label), bytes);
    token_print(bytes, ret_text);
    sodium_memzero(bytes, sizeof bytes);
    buf_free(&label);
}

void csrf_token_of(struct str session_token, char ret_text[TOKEN_BYTES + 1])
{
    static const char purpose[] = "postbackd csrf\n";
    uint8_t hash[32];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char *)purpose, sizeof purpose - 1);
    crypto_hash_sha256_update(&state, (const unsigned char *)session_token.p, session_token.n);
    crypto_hash_sha256_final(&state, hash);
    token_print(hash, ret_text);
}
