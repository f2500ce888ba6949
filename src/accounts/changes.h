/* The write side of accounts: operations that validate a request and make the new entry with its
 * document. Nothing is visible before the caller has made the document durable and applies it:
 *
 *     result = change_create_app(accounts, partner_id, body, &faults, &change);
 *     if (result == CHANGE_READY) {
 *         ...the store keeps change.kind, change.id, change.document (or deletes)...
 *         change_apply(accounts, &change);      // only after STORE_OK
 *         ...answer from change.app...
 *         change_free(accounts, &change);       // also when the store refused
 *     }
 *
 * All of it on ONE thread, one change at a time: between READY and change_free no other change may
 * be made (asserted), or two creations could be given the same id. The caller checks who may make
 * which change (scopes, tenancy). Only the scopes of new keys are checked here. */
#pragma once

#include "accounts/directory.h"
#include "accounts/vault.h"
#include "base/problem.h"
#include "domain/destination_rules.h"
#include "domain/signature.h"
#include "json/reader.h"

enum change_result {
    CHANGE_READY,
    CHANGE_INVALID,      /* 400: see the faults */
    CHANGE_FORBIDDEN,    /* 403: a key may not grant more than its maker has; see the faults */
    CHANGE_NOT_FOUND,    /* 404 */
    CHANGE_CONFLICT,     /* 409: the id is taken; see the faults */
    CHANGE_TOO_MANY,     /* 409: the account has the maximum number; see the fault */
    CHANGE_SECRETS_LIVE, /* 409: LIMIT_OLDER_SECRETS older ones are live */
    CHANGE_STALE,        /* 412: If-Match names another version; or the 410 is from an older URL */
};

#define KEY_TEXT_PREFIX "pbk_"
#define KEY_TEXT_BYTES 47 /* the prefix and base64url of 32 bytes */

struct change {
    enum account_kind kind;
    bool remove;         /* the document is to be deleted */
    bool applied;        /* set by change_apply */
    struct str id;       /* the entry's */
    struct buf document; /* empty with remove */
    union {
        void *entry; /* one reference is the change's */
        struct partner *partner;
        struct app *app;
        struct client *client;
        struct api_key *key;
    };
    char key_text[KEY_TEXT_BYTES + 1]; /* of a created key: shown once */
};

struct accounts_options {
    struct directory *directory;
    struct env *env; /* ids, keys, secrets, nonces and the time */
    struct vault vault;
    struct destination_rules rules; /* which addresses a callback URL may write out; copied */
    uint32_t cluster_count;         /* clusters that accounts are split over; 0: 1 */
    bool sends_mail;                /* false: OperationsEmail is refused */
};

struct accounts;
struct accounts *accounts_new(const struct accounts_options *options);
/* On the control thread. */
void accounts_set_rules(struct accounts *accounts, const struct destination_rules *rules);
void accounts_free(struct accounts *accounts);

/* Loads one stored document into the directory; at the start, in any order. On failure *ret_why is
 * a sentence in the arena. */
MUST_CHECK bool accounts_load(struct accounts *accounts, struct arena *arena,
                              enum account_kind kind, struct str id, struct str document,
                              struct str *ret_why);

/* Takes over one document that another process has changed (absent: deleted), on the control
 * thread. On failure *ret_why is a sentence in the arena. */
MUST_CHECK bool accounts_refresh(struct accounts *accounts, struct arena *arena,
                                 enum account_kind kind, struct str id, struct str document,
                                 struct str *ret_why);

/* Call it after the last document. False: an app, client or key lacks what it belongs to. */
MUST_CHECK bool accounts_loaded(struct accounts *accounts, struct arena *arena,
                                struct str *ret_why);

/* `body` and everything it points at must stay valid until the call returns; the faults' arena is
 * the caller's. if_match: the header, or absent. ret_change is touched only with CHANGE_READY. */
enum change_result change_create_partner(struct accounts *accounts, const struct json *body,
                                         struct problems *faults, struct change *ret_change);
/* by_partner: the caller is a partner's key or person, who may not set every field. */
enum change_result change_patch_partner(struct accounts *accounts, struct str partner_id,
                                        bool by_partner, struct str if_match,
                                        const struct json *body, struct problems *faults,
                                        struct change *ret_change);
enum change_result change_create_app(struct accounts *accounts, struct str partner_id,
                                     bool by_partner, const struct json *body,
                                     struct problems *faults, struct change *ret_change);
enum change_result change_patch_app(struct accounts *accounts, struct str app_id,
                                    struct str if_match, const struct json *body,
                                    struct problems *faults, struct change *ret_change);
enum change_result change_create_client(struct accounts *accounts, struct str app_id,
                                        const struct json *body, struct problems *faults,
                                        struct change *ret_change);
enum change_result change_patch_client(struct accounts *accounts, struct str client_id,
                                       struct str if_match, const struct json *body,
                                       struct problems *faults, struct change *ret_change);
/* The caller who creates a key; the key gets no more rights than the caller has. */
struct key_maker {
    uint32_t scopes;
    int64_t expires_ms; /* of the asking key; 0: never, or a session */
    struct str person;  /* the UserId behind it; absent: none */
    bool by_operator;   /* the operator's own */
};
/* A partner's key never gets SCOPE_ADMIN. It expires with the asking key, unless the body asks for
 * an earlier time. */
enum change_result change_create_key(struct accounts *accounts, struct str partner_id,
                                     const struct key_maker *maker, const struct json *body,
                                     struct problems *faults, struct change *ret_change);
enum change_result change_revoke_key(struct accounts *accounts, uint32_t account_no,
                                     struct str key_id, struct str if_match,
                                     struct change *ret_change);
/* Body: {"OverlapSeconds": 0..2592000 (default 86400), "SigSwitch": "now" (default) or "end",
 * "CallbackSecret": only from operators; absent: one is made}, or NULL. Live secrets stay live;
 * with an overlap of 0 all older ones end at once. */
enum change_result change_rotate_secret(struct accounts *accounts, struct str app_id,
                                        bool by_partner, const struct json *body,
                                        struct problems *faults, struct change *ret_change);
/* The same for operations messages to the partner, which have no Sig to switch. */
enum change_result change_rotate_operations_secret(struct accounts *accounts, struct str partner_id,
                                                   const struct json *body, struct problems *faults,
                                                   struct change *ret_change);
/* The secrets for messages to the operator, each with NUL; returns their number. One is derived
 * from the master key, and while that is being changed another from the second key. Any thread. */
size_t accounts_operator_secrets(const struct accounts *accounts,
                                 char ret_secrets[2][SECRET_TEXT_MAX]);
/* Disables the lane after a 410 from `url`, the lane's URL at the time of the attempt.
 * CHANGE_STALE: the lane has another URL by now, or is disabled already. */
enum change_result change_disable_lane(struct accounts *accounts, uint32_t app_no,
                                       enum lane_kind kind, struct str url,
                                       struct change *ret_change);

/* Finds an entry to show it again: nothing changes, and nothing is stored. */
enum change_result change_find(struct accounts *accounts, enum account_kind kind, struct str id,
                               struct change *ret_change);
/* Makes the change that stores the key's last use. False: the key was removed. */
MUST_CHECK bool change_key_used(struct accounts *accounts, struct str key_id,
                                struct change *ret_change);
/* Makes the change that seals the next entry under the vault's first key, if it is sealed under the
 * second one. False: there is none left. */
MUST_CHECK bool change_reseal(struct accounts *accounts, struct change *ret_change);

/* Enables a lane that 410s have disabled, so that what waits is sent. If none have, nothing
 * changes. */
enum change_result change_enable_lane(struct accounts *accounts, struct str app_id,
                                      enum lane_kind kind, struct change *ret_change);

void change_apply(struct accounts *accounts, struct change *change);
void change_free(struct accounts *accounts, struct change *change);
