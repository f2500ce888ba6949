/* Puts entries into the directory, removes keys, and lists entries. Only the thread that makes
 * changes (changes.h) puts and removes; lists can be read on any thread. Look-ups are in
 * accounts.h. */
#pragma once

#include "accounts/accounts.h"

/* The numbers are those of the store's object kinds, which services/control.h asserts. */
enum account_kind {
    ACCOUNT_PARTNER = 1,
    ACCOUNT_APP = 2,
    ACCOUNT_CLIENT = 3,
    ACCOUNT_KEY = 4,
};
#define ACCOUNT_KIND_LAST ACCOUNT_KEY

struct directory *directory_new(void);
void directory_free(struct directory *d);

/* Takes the caller's reference. An entry of the same id (and number) is replaced. */
void directory_put_partner(struct directory *d, struct partner *p);
void directory_put_app(struct directory *d, struct app *a);
void directory_put_client(struct directory *d, struct client *c);
void directory_put_key(struct directory *d, struct api_key *k);
void directory_remove_key(struct directory *d, struct str id);

/* The operator's key of the environment: every scope, stored nowhere. */
void directory_set_operator_key(struct directory *d, struct str key_text);

/* Called as a partner (app_no 0) or an app is put in, before anybody sees it: which cluster it is
 * in. Before anything is put in. */
typedef void (*directory_placed)(void *context, uint32_t account_no, uint32_t app_no,
                                 uint32_t cluster);
void directory_set_placed(struct directory *d, directory_placed placed, void *context);
/* How many partners each of the first `count` clusters has. */
void directory_count_partners(struct directory *d, size_t *ret, uint32_t count);
/* Of the first `count` clusters the one with the fewest partners. */
uint32_t directory_least_cluster(struct directory *d, uint32_t count);

/* One more than the highest number in use. */
uint32_t directory_next_no(struct directory *d, enum account_kind kind);

struct api_key *directory_key_by_no(struct directory *d, uint32_t key_no); /* with a reference */
void *directory_entry(struct directory *d, enum account_kind kind, struct str id); /* the same */

/* Under directory_read_lock: one more than the highest number, and entries by number. */
uint32_t directory_end_locked(struct directory *d, enum account_kind kind);
const struct client *directory_client_by_no_locked(struct directory *d, uint32_t client_no);
const struct api_key *directory_key_by_no_locked(struct directory *d, uint32_t key_no);

/* How many apps, clients or keys the account has. */
size_t directory_count(struct directory *d, enum account_kind kind, uint32_t account_no);

/* Lists, newest first: entries with numbers below `before_no` (0: from the newest), at most
 * `limit`, a reference each. Returns how many. */
size_t directory_list_partners(struct directory *d, uint32_t before_no, struct partner **ret,
                               size_t limit);
size_t directory_list_apps(struct directory *d, uint32_t account_no, uint32_t before_no,
                           struct app **ret, size_t limit); /* account_no 0: of all */
/* app_no 0: all clients of the account. */
size_t directory_list_clients(struct directory *d, uint32_t account_no, uint32_t app_no,
                              uint32_t before_no, struct client **ret, size_t limit);
size_t directory_list_keys(struct directory *d, uint32_t account_no, uint32_t before_no,
                           struct api_key **ret, size_t limit);
/* Endpoints that are disabled by 410s. Looks at every app. */
int64_t directory_count_disabled_endpoints(struct directory *d);
