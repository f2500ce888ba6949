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
    CHANGE_FORBIDDEN,    /* 403: a key may not grant what its maker has not; see the faults */
    CHANGE_NOT_FOUND,    /* 404 */
    CHANGE_CONFLICT,     /* 409: the id is taken; see the faults */
    CHANGE_TOO_MANY,     /* 409: as many of them as an account may have; see the fault */
    CHANGE_SECRETS_LIVE, /* 409: LIMIT_OLDER_SECRETS older ones are live */
    CHANGE_STALE,        /* 412: If-Match names another version; or a 410 from an older URL */
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
    char key_text[KEY_TEXT_BYTES + 1]; /* a created key's: to be shown once */
};

struct accounts_options {
    struct directory *directory;
    struct env *env; /* ids, keys, secrets, nonces and the time */
    struct vault vault;
    struct destination_rules rules; /* which addresses a callback URL may write out; copied */
    uint32_t cluster_count;         /* that accounts are split over; 0: 1 */
    bool sends_mail;                /* else no OperationsEmail is taken */
};

struct accounts;
struct accounts *accounts_new(const struct accounts_options *options);
/* On the thread of changes. */
void accounts_set_rules(struct accounts *accounts, const struct destination_rules *rules);
void accounts_free(struct accounts *accounts);

/* One document as the store keeps it, into the directory; at start, in any order. On failure
 * *ret_why is a sentence in the arena. */
MUST_CHECK bool accounts_load(struct accounts *accounts, struct arena *arena,
                              enum account_kind kind, struct str id, struct str document,
                              struct str *ret_why);

/* One document as another process has left it (absent: it is gone), on the thread of changes. On
 * failure *ret_why is a sentence in the arena. */
MUST_CHECK bool accounts_refresh(struct accounts *accounts, struct arena *arena,
                                 enum account_kind kind, struct str id, struct str document,
                                 struct str *ret_why);

/* After the last document: whether every app has its partner, and every client and key theirs. */
MUST_CHECK bool accounts_loaded(struct accounts *accounts, struct arena *arena,
                                struct str *ret_why);

/* `body` and everything it points at must stay valid until the call returns; the faults' arena is
 * the caller's. if_match: the header, or absent. ret_change is touched only with CHANGE_READY. */
enum change_result change_create_partner(struct accounts *accounts, const struct json *body,
                                         struct problems *faults, struct change *ret_change);
/* by_partner: asked for by a partner's key or person, who may not give every field. */
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
/* Who asks for a key, which grants no more than they have. */
struct key_maker {
    uint32_t scopes;
    int64_t expires_ms; /* of the key that asks; 0: never, or a session */
    struct str person;  /* the UserId behind it; absent: none */
    bool by_operator;   /* the operator's own */
};
/* A partner's key never gets SCOPE_ADMIN. It ends with the one that asks unless told to earlier. */
enum change_result change_create_key(struct accounts *accounts, struct str partner_id,
                                     const struct key_maker *maker, const struct json *body,
                                     struct problems *faults, struct change *ret_change);
enum change_result change_revoke_key(struct accounts *accounts, uint32_t account_no,
                                     struct str key_id, struct str if_match,
                                     struct change *ret_change);
/* Body: {"OverlapSeconds": 0..2592000 (86400), "SigSwitch": "now" (default) or "end",
 * "CallbackSecret": of operators, else one is made}, or NULL.
 * What is live stays so, but without an overlap: then everything older ends at once. */
enum change_result change_rotate_secret(struct accounts *accounts, struct str app_id,
                                        bool by_partner, const struct json *body,
                                        struct problems *faults, struct change *ret_change);
/* The same for the messages to the partner, which have no Sig to switch. */
enum change_result change_rotate_operations_secret(struct accounts *accounts, struct str partner_id,
                                                   const struct json *body, struct problems *faults,
                                                   struct change *ret_change);
/* Of the messages to the operator, each with NUL; returns how many. Derived from the master key,
 * and while that is being changed from the second one, too. Any thread. */
size_t accounts_operator_secrets(const struct accounts *accounts,
                                 char ret_secrets[2][SECRET_TEXT_MAX]);
/* After a 410 from `url`, as it was when the attempt was made. CHANGE_STALE: the lane has another
 * URL by now, or is disabled already. */
enum change_result change_disable_lane(struct accounts *accounts, uint32_t app_no,
                                       enum lane_kind kind, struct str url,
                                       struct change *ret_change);

/* An entry as it is, to be shown again: no change, and nothing to keep. */
enum change_result change_find(struct accounts *accounts, enum account_kind kind, struct str id,
                               struct change *ret_change);
/* The key's last use as the store is to know it. False: it is gone. */
MUST_CHECK bool change_key_used(struct accounts *accounts, struct str key_id,
                                struct change *ret_change);
/* Seals the next entry that only the vault's second key opens under its first. False: there is
 * none left. */
MUST_CHECK bool change_reseal(struct accounts *accounts, struct change *ret_change);

/* Lets go what waits on a lane that 410s have disabled; nothing changes where none have. */
enum change_result change_enable_lane(struct accounts *accounts, struct str app_id,
                                      enum lane_kind kind, struct change *ret_change);

void change_apply(struct accounts *accounts, struct change *change);
void change_free(struct accounts *accounts, struct change *change);
