/* Partners, apps, clients and keys for readers: immutable, reference-counted entries in a
 * directory behind a read-write lock. A change makes a new entry and, once it is durable, puts it
 * in place of the old one. A reader that holds a reference to the old entry may use it until it
 * gives the reference back.
 *
 * Numbers (account_no, app_no, client_no) are small integers inside the daemon and are never
 * reused. Ids are the texts that requests and answers use. account_no is the number of a
 * partner. */
#pragma once

#include "accounts/success_answer.h"
#include "base/problem.h"
#include "domain/callback_end.h"
#include "domain/event.h"
#include "domain/request_format.h"
#include "domain/url.h"

#include <stdatomic.h>

/* Bits of a key's scopes; names as in the contract, section 6. */
enum scope {
    SCOPE_REPORTS_READ = 1 << 0,
    SCOPE_CALLBACKS_READ = 1 << 1,
    SCOPE_CALLBACKS_WRITE = 1 << 2,
    SCOPE_APPS_READ = 1 << 3,
    SCOPE_APPS_WRITE = 1 << 4,
    SCOPE_KEYS_WRITE = 1 << 5,
    SCOPE_EVENTS_WRITE = 1 << 6, /* operator */
    SCOPE_ADMIN = 1 << 7,        /* operator: everything */
    SCOPE_PEOPLE_WRITE = 1 << 8,
    SCOPE_AUDIT_READ = 1 << 9,
    SCOPE_PANELISTS_ERASE = 1 << 10,
};
#define SCOPES_ALL 0x7ffu
#define SCOPES_PARTNER (SCOPES_ALL & ~(uint32_t)(SCOPE_EVENTS_WRITE | SCOPE_ADMIN))

/* A secret that can be replaced while it is in use. Each older secret signs beside the newest one
 * until its overlap ends, which was chosen when it was replaced (secrets.c). */
struct secrets {
    struct str newest;
    struct older_secret {
        struct str text;          /* absent: none, and none behind it */
        int64_t until_ms;         /* may be over */
    } older[LIMIT_OLDER_SECRETS]; /* latest first */
    uint8_t sig_older;            /* the older one, counted from 1, that Sig keeps; 0: none */
};
#define LIVE_SECRETS_MOST (1 + LIMIT_OLDER_SECRETS)

/* The secret that Sig is made with now. */
struct str secrets_sig(const struct secrets *s, int64_t now_ms);
/* All secrets that are live now, the newest first. Returns their number. */
size_t secrets_live(const struct secrets *s, int64_t now_ms,
                    struct str ret_secrets[LIVE_SECRETS_MOST]);
/* When the last older secret ends; 0: none is live. */
int64_t secrets_older_until_ms(const struct secrets *s, int64_t now_ms);
/* Makes `next` the newest secret. Without an overlap, all older ones end at once. With one, live
 * secrets stay until their ends; the newest before, and the one that Sig keeps, stay at least for
 * the overlap. False: LIMIT_OLDER_SECRETS are live, and nothing has changed. */
MUST_CHECK bool secrets_rotate(struct secrets *s, struct str next, int64_t now_ms,
                               int64_t overlap_ms, bool sig_at_end);

/* Every entry begins with its magic number and its references, see entry.h. */
#define PARTNER_MAGIC 0xacc07001u
#define APP_MAGIC 0xacc07002u
#define CLIENT_MAGIC 0xacc07003u
#define API_KEY_MAGIC 0xacc07004u

/* The format of the messages to an OperationsUrl. */
enum operations_format {
    OPERATIONS_STANDARD,
    OPERATIONS_SLACK,
    OPERATIONS_TEAMS,
    OPERATIONS_DISCORD
};

struct partner {
    uint32_t magic;
    atomic_uint refs;
    uint32_t account_no;
    uint64_t version; /* ETag; grows with each change */
    bool enabled;
    uint32_t cluster; /* the cluster with its events; never changes */
    struct str id, name;
    struct str operations_url, operations_email; /* absent: none */
    enum operations_format operations_format;
    struct secrets operations_secrets; /* these sign the messages to it */
    bool under_second_key; /* the stored document is sealed under the vault's second key */
};

/* For receivers that require one (TLS client authentication). */
struct client_certificate {
    struct str pem, key; /* PEM: the certificate, then its chain; pem absent: none */
    struct str subject;  /* as in RFC 4514 */
    uint8_t sha256[32];  /* of the certificate (DER) */
    int64_t not_after_ms;
};

struct app {
    uint32_t magic;
    atomic_uint refs;
    uint32_t app_no;
    uint64_t version;
    bool under_second_key; /* as a partner's */
    bool enabled;
    int64_t enabled_since_ms; /* retry schedules stood still before that */
    struct str id, name, partner_id;
    struct app_terms terms;     /* the rules for its events; terms.account_no is the owner's */
    struct str currency_text;   /* CurrencyValue as it was given */
    struct str url[LANE_KINDS]; /* by lane kind; absent: none */
    int64_t lane_enabled_ms[LANE_KINDS]; /* when it was last enabled after 410s; 0: never */
    struct url parsed[LANE_KINDS];       /* where url is present */
    int32_t timeout_ms;                  /* whole exchange */
    int32_t max_concurrency;
    int32_t rate_per_second; /* 0: no limit */
    struct final_statuses final_statuses;
    struct success_answer success_answer;
    enum request_format request_format;
    struct secrets secrets; /* Callback Secrets, decrypted */
    struct client_certificate certificate;
};

struct client {
    uint32_t magic;
    atomic_uint refs;
    uint32_t client_no, app_no, account_no;
    uint64_t version;
    bool enabled;
    enum integration integration;
    struct str id, name, app_id;
};

struct api_key {
    uint32_t magic;
    atomic_uint refs;
    uint32_t key_no; /* 0: the operator's key of the environment, which no list shows */
    uint64_t version;
    uint32_t account_no; /* 0: an operator's */
    uint32_t scopes;
    struct str id, name;
    struct str person;      /* UserId of who made it, or made the key that made it; absent: none */
    bool by_operator;       /* made by an operator, whom partners do not see */
    int64_t expires_ms;     /* 0: never */
    int64_t stored_used_ms; /* the last request, at most KEY_USED_LAG_MS late; 0: none yet */
    atomic_llong used_ms;   /* the same, only in memory */
    atomic_bool noting_use; /* a newer stored_used_ms is being stored */
    uint8_t hash[32];       /* SHA-256 of the key's text: keys are 256-bit random, no salt needed */
};

#define KEY_USED_LAG_MS (10 * MINUTE_MS)

bool api_key_is_over(const struct api_key *k, int64_t now_ms); /* it has expired */
/* Records a request with the key; any thread. True: the use should be stored (change_key_used). */
bool api_key_use(struct api_key *k, int64_t now_ms);

struct directory;

/* All of these return a reference, or NULL; release it with *_unref, which takes NULL, too. Any
 * thread. */
struct partner *directory_partner(struct directory *d, struct str id);
struct partner *directory_partner_by_no(struct directory *d, uint32_t account_no);
struct app *directory_app(struct directory *d, struct str id);
struct app *directory_app_by_no(struct directory *d, uint32_t app_no);
struct client *directory_client(struct directory *d, struct str id);
struct client *directory_client_by_no(struct directory *d, uint32_t client_no);
/* The key with this text, found by a constant-time comparison of hashes. */
struct api_key *directory_key_by_text(struct directory *d, struct str key_text);
struct api_key *directory_key(struct directory *d, struct str id);
void partner_unref(struct partner *p);
void app_unref(struct app *a);
void client_unref(struct client *c);
void api_key_unref(struct api_key *k);

/* For a batch of events: one lock, many look-ups. The pointers are valid until directory_unlock,
 * which a writer calls, too. */
void directory_read_lock(struct directory *d);
const struct client *directory_client_locked(struct directory *d, struct str id);
const struct app *directory_app_locked(struct directory *d, uint32_t app_no);
const struct partner *directory_partner_locked(struct directory *d, uint32_t account_no);
void directory_unlock(struct directory *d);
