/* Puts entries into the directory, removes keys, and lists entries. Only the thread that makes
 * changes (changes.h) puts and removes; lists can be read on any thread. Look-ups are in
 * accounts.h. */
#pragma once

#include "accounts/accounts.h"

/* Numbered as the store's object kinds; services/control.h asserts that. */
enum account_kind {
    ACCOUNT_PARTNER = 1,
    ACCOUNT_APP = 2,
    ACCOUNT_CLIENT = 3,
    ACCOUNT_KEY = 4,
};
#define ACCOUNT_KIND_LAST ACCOUNT_KEY

struct directory *directory_new(void);
void directory_free(struct directory *d);

/* Takes over the caller's reference. Replaces the entry with the same id (and number). */
void directory_put_partner(struct directory *d, struct partner *p);
void directory_put_app(struct directory *d, struct app *a);
void directory_put_client(struct directory *d, struct client *c);
void directory_put_key(struct directory *d, struct api_key *k);
void directory_remove_key(struct directory *d, struct str id);

/* The operator's key of the environment: every scope, stored nowhere. */
void directory_set_operator_key(struct directory *d, struct str key_text);

/* `placed` is called with the cluster of each partner (app_no 0) and app that is put in, before
 * anybody sees the entry. Set it before anything is put in. */
typedef void (*directory_placed)(void *context, uint32_t account_no, uint32_t app_no,
                                 uint32_t cluster);
void directory_set_placed(struct directory *d, directory_placed placed, void *context);
/* The number of partners in each of the first `count` clusters. */
void directory_count_partners(struct directory *d, size_t *ret, uint32_t count);
/* The one of the first `count` clusters with the fewest partners. */
uint32_t directory_least_cluster(struct directory *d, uint32_t count);

/* One more than the highest number in use. */
uint32_t directory_next_no(struct directory *d, enum account_kind kind);

struct api_key *directory_key_by_no(struct directory *d, uint32_t key_no); /* with a reference */
void *directory_entry(struct directory *d, enum account_kind kind, struct str id); /* the same */

/* Under directory_read_lock: one more than the highest number, and entries by number. */
uint32_t directory_end_locked(struct directory *d, enum account_kind kind);
const struct client *directory_client_by_no_locked(struct directory *d, uint32_t client_no);
const struct api_key *directory_key_by_no_locked(struct directory *d, uint32_t key_no);

/* The number of the account's apps, clients or keys. */
size_t directory_count(struct directory *d, enum account_kind kind, uint32_t account_no);

/* References to at most `limit` entries with numbers below `before_no` (0: all), newest first.
 * Returns their number. */
size_t directory_list_partners(struct directory *d, uint32_t before_no, struct partner **ret,
                               size_t limit);
size_t directory_list_apps(struct directory *d, uint32_t account_no, uint32_t before_no,
                           struct app **ret, size_t limit); /* account_no 0: of all */
/* app_no 0: all clients of the account. */
size_t directory_list_clients(struct directory *d, uint32_t account_no, uint32_t app_no,
                              uint32_t before_no, struct client **ret, size_t limit);
size_t directory_list_keys(struct directory *d, uint32_t account_no, uint32_t before_no,
                           struct api_key **ret, size_t limit);
/* The number of endpoints that 410s have disabled. Reads every app. */
int64_t directory_count_disabled_endpoints(struct directory *d);
