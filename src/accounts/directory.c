/* All partners, apps, clients and keys (entries), by id and by number, behind one lock. Writes are
 * rare (somebody edits settings). A reader holds the lock for one look-up; a batch of events holds
 * it for all of its look-ups.
 *
 * Invariants: an entry is in the index of its kind and in the array by number of its kind, with one
 * reference for both, and is counted for its account, which never changes; a key is also in the
 * index of key hashes. */
#include "accounts/directory.h"

#include "accounts/entry.h"
#include "base/alloc.h"
#include "base/env.h"
#include "base/index.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>

#define DIRECTORY_MAGIC 0xacc0d124u

struct kind {
    struct index by_id;
    void **by_no; /* [number]; NULL where none */
    size_t capacity;
    uint32_t highest;
    uint32_t *of_account; /* [account_no]: its number of entries; partners have no account */
    size_t accounts;
};

struct directory {
    uint32_t magic;
    pthread_rwlock_t lock;
    struct kind kinds[ACCOUNT_KIND_LAST + 1];
    struct index key_hashes; /* the id is the 32 bytes of the hash */
    struct api_key *operator_key;
    directory_placed placed; /* NULL: nobody wants to know */
    void *placed_context;
};

struct directory *directory_new(void)
{
    struct directory *d = xcalloc(1, sizeof *d);
    d->magic = DIRECTORY_MAGIC;
    /* Readers never stop coming under load: a writer must not wait for a gap between them. */
    pthread_rwlockattr_t attr;
    ASSERT(pthread_rwlockattr_init(&attr) == 0);
    ASSERT(pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0);
    ASSERT(pthread_rwlock_init(&d->lock, &attr) == 0);
    pthread_rwlockattr_destroy(&attr);
    for (int k = ACCOUNT_PARTNER; k <= ACCOUNT_KIND_LAST; k++)
        env_random(env_real(), &d->kinds[k].by_id.secret, sizeof d->kinds[k].by_id.secret);
    env_random(env_real(), &d->key_hashes.secret, sizeof d->key_hashes.secret);
    return d;
}

void directory_free(struct directory *d)
{
    if (!d)
        return;
    CHECK_MAGIC(d, DIRECTORY_MAGIC);
    for (int k = ACCOUNT_PARTNER; k <= ACCOUNT_KIND_LAST; k++) {
        struct kind *kind = &d->kinds[k];
        for (size_t no = 0; no <= kind->highest && kind->by_no; no++)
            entry_unref(kind->by_no[no]);
        free(kind->by_no);
        free(kind->of_account);
        index_free(&kind->by_id);
    }
    entry_unref(d->operator_key);
    index_free(&d->key_hashes);
    pthread_rwlock_destroy(&d->lock);
    d->magic = 0;
    free(d);
}

void directory_read_lock(struct directory *d)
{
    CHECK_MAGIC(d, DIRECTORY_MAGIC);
    ASSERT(pthread_rwlock_rdlock(&d->lock) == 0);
}

void directory_unlock(struct directory *d)
{
    ASSERT(pthread_rwlock_unlock(&d->lock) == 0);
}

static void write_lock(struct directory *d)
{
    CHECK_MAGIC(d, DIRECTORY_MAGIC);
    ASSERT(pthread_rwlock_wrlock(&d->lock) == 0);
}

/* --- look-ups ---------------------------------------------------------------------------- */

static void *by_no(const struct directory *d, enum account_kind k, uint32_t no)
{
    const struct kind *kind = &d->kinds[k];
    return no && no <= kind->highest ? kind->by_no[no] : NULL;
}

static void *find_id(struct directory *d, enum account_kind k, struct str id)
{
    directory_read_lock(d);
    void *entry = index_find(&d->kinds[k].by_id, id);
    if (entry)
        entry_ref(entry);
    directory_unlock(d);
    return entry;
}

static void *find_no(struct directory *d, enum account_kind k, uint32_t no)
{
    directory_read_lock(d);
    void *entry = by_no(d, k, no);
    if (entry)
        entry_ref(entry);
    directory_unlock(d);
    return entry;
}

struct partner *directory_partner(struct directory *d, struct str id)
{
    return find_id(d, ACCOUNT_PARTNER, id);
}

struct partner *directory_partner_by_no(struct directory *d, uint32_t account_no)
{
    return find_no(d, ACCOUNT_PARTNER, account_no);
}

struct app *directory_app(struct directory *d, struct str id)
{
    return find_id(d, ACCOUNT_APP, id);
}

struct app *directory_app_by_no(struct directory *d, uint32_t app_no)
{
    return find_no(d, ACCOUNT_APP, app_no);
}

struct client *directory_client(struct directory *d, struct str id)
{
    return find_id(d, ACCOUNT_CLIENT, id);
}

struct client *directory_client_by_no(struct directory *d, uint32_t client_no)
{
    return find_no(d, ACCOUNT_CLIENT, client_no);
}

struct api_key *directory_key(struct directory *d, struct str id)
{
    return find_id(d, ACCOUNT_KEY, id);
}

void *directory_entry(struct directory *d, enum account_kind kind, struct str id)
{
    return find_id(d, kind, id);
}

struct api_key *directory_key_by_no(struct directory *d, uint32_t key_no)
{
    return find_no(d, ACCOUNT_KEY, key_no);
}

const struct client *directory_client_locked(struct directory *d, struct str id)
{
    return index_find(&d->kinds[ACCOUNT_CLIENT].by_id, id);
}

const struct app *directory_app_locked(struct directory *d, uint32_t app_no)
{
    return by_no(d, ACCOUNT_APP, app_no);
}

const struct partner *directory_partner_locked(struct directory *d, uint32_t account_no)
{
    return by_no(d, ACCOUNT_PARTNER, account_no);
}

const struct client *directory_client_by_no_locked(struct directory *d, uint32_t client_no)
{
    return by_no(d, ACCOUNT_CLIENT, client_no);
}

const struct api_key *directory_key_by_no_locked(struct directory *d, uint32_t key_no)
{
    return by_no(d, ACCOUNT_KEY, key_no);
}

uint32_t directory_end_locked(struct directory *d, enum account_kind kind)
{
    ASSERT(d->kinds[kind].highest < UINT32_MAX);
    return d->kinds[kind].highest + 1;
}

static void hash_key_text(struct str text, uint8_t ret_hash[32])
{
    _Static_assert(crypto_hash_sha256_BYTES == 32, "SHA-256");
    crypto_hash_sha256(ret_hash, (const unsigned char *)(text.p ? text.p : ""), text.n);
}

struct api_key *directory_key_by_text(struct directory *d, struct str key_text)
{
    /* The index compares hashes of what was sent, not the text: its timing tells nothing about
     * a key. The last word is a comparison in constant time all the same. */
    uint8_t hash[32];
    hash_key_text(key_text, hash);
    directory_read_lock(d);
    struct api_key *key = index_find(&d->key_hashes, (struct str){(const char *)hash, sizeof hash});
    if (!key)
        key = d->operator_key;
    if (key && sodium_memcmp(key->hash, hash, sizeof hash) == 0)
        entry_ref(key);
    else
        key = NULL;
    directory_unlock(d);
    return key;
}

/* --- changes ----------------------------------------------------------------------------- */

static uint32_t account_of(enum account_kind k, const void *entry)
{
    switch (k) {
    case ACCOUNT_PARTNER: return 0;
    case ACCOUNT_APP: return ((const struct app *)entry)->terms.account_no;
    case ACCOUNT_CLIENT: return ((const struct client *)entry)->account_no;
    case ACCOUNT_KEY: return ((const struct api_key *)entry)->account_no;
    }
    UNREACHABLE();
}

/* Under the write lock. */
static uint32_t *count_of(struct kind *kind, uint32_t account_no)
{
    size_t before = kind->accounts;
    kind->of_account =
        xgrow(kind->of_account, &kind->accounts, (size_t)account_no + 1, sizeof *kind->of_account);
    for (size_t i = before; i < kind->accounts; i++)
        kind->of_account[i] = 0;
    return &kind->of_account[account_no];
}

/* Under the write lock. Returns the replaced entry, which the caller releases. */
static void *put(struct directory *d, enum account_kind k, uint32_t no, struct str id, void *entry)
{
    struct kind *kind = &d->kinds[k];
    ASSERT(no > 0);
    size_t before = kind->capacity;
    kind->by_no = xgrow(kind->by_no, &kind->capacity, (size_t)no + 1, sizeof *kind->by_no);
    for (size_t i = before; i < kind->capacity; i++)
        kind->by_no[i] = NULL;
    void *was = index_put(&kind->by_id, id, entry);
    ASSERT(was == kind->by_no[no]);
    kind->by_no[no] = entry;
    if (no > kind->highest)
        kind->highest = no;
    ASSERT(!was || account_of(k, was) == account_of(k, entry));
    if (!was)
        ++*count_of(kind, account_of(k, entry));
    return was;
}

void directory_set_placed(struct directory *d, directory_placed placed, void *context)
{
    CHECK_MAGIC(d, DIRECTORY_MAGIC);
    d->placed = placed;
    d->placed_context = context;
}

/* Under the write lock. */
static void place(struct directory *d, uint32_t account_no, uint32_t app_no)
{
    const struct partner *p = by_no(d, ACCOUNT_PARTNER, account_no);
    if (d->placed && p)
        d->placed(d->placed_context, account_no, app_no, p->cluster);
}

void directory_count_partners(struct directory *d, size_t *ret, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        ret[i] = 0;
    directory_read_lock(d);
    for (uint32_t no = 1; no < directory_end_locked(d, ACCOUNT_PARTNER); no++) {
        const struct partner *p = directory_partner_locked(d, no);
        if (p && p->cluster < count)
            ret[p->cluster]++;
    }
    directory_unlock(d);
}

uint32_t directory_least_cluster(struct directory *d, uint32_t count)
{
    size_t *partners = xcalloc(count, sizeof *partners);
    uint32_t least = 0;
    directory_count_partners(d, partners, count);
    for (uint32_t i = 1; i < count; i++)
        if (partners[i] < partners[least])
            least = i;
    free(partners);
    return least;
}

static void put_and_unlock(struct directory *d, enum account_kind k, uint32_t no, struct str id,
                           void *entry)
{
    void *was = put(d, k, no, id, entry);
    if (k == ACCOUNT_PARTNER)
        place(d, no, 0);
    else if (k == ACCOUNT_APP)
        place(d, ((const struct app *)entry)->terms.account_no, no);
    directory_unlock(d);
    entry_unref(was);
}

void directory_put_partner(struct directory *d, struct partner *p)
{
    CHECK_MAGIC(p, PARTNER_MAGIC);
    write_lock(d);
    put_and_unlock(d, ACCOUNT_PARTNER, p->account_no, p->id, p);
}

void directory_put_app(struct directory *d, struct app *a)
{
    CHECK_MAGIC(a, APP_MAGIC);
    write_lock(d);
    put_and_unlock(d, ACCOUNT_APP, a->app_no, a->id, a);
}

void directory_put_client(struct directory *d, struct client *c)
{
    CHECK_MAGIC(c, CLIENT_MAGIC);
    write_lock(d);
    put_and_unlock(d, ACCOUNT_CLIENT, c->client_no, c->id, c);
}

static struct str key_hash_id(const struct api_key *k)
{
    return (struct str){(const char *)k->hash, sizeof k->hash};
}

void directory_put_key(struct directory *d, struct api_key *k)
{
    CHECK_MAGIC(k, API_KEY_MAGIC);
    write_lock(d);
    struct api_key *was = index_find(&d->kinds[ACCOUNT_KEY].by_id, k->id);
    if (was)
        index_remove(&d->key_hashes, key_hash_id(was));
    index_put(&d->key_hashes, key_hash_id(k), k);
    put_and_unlock(d, ACCOUNT_KEY, k->key_no, k->id, k);
}

void directory_remove_key(struct directory *d, struct str id)
{
    write_lock(d);
    struct kind *kind = &d->kinds[ACCOUNT_KEY];
    struct api_key *k = index_remove(&kind->by_id, id);
    if (k) {
        index_remove(&d->key_hashes, key_hash_id(k));
        kind->by_no[k->key_no] = NULL;
        --*count_of(kind, k->account_no);
    }
    directory_unlock(d);
    entry_unref(k);
}

void directory_set_operator_key(struct directory *d, struct str key_text)
{
    struct api_key from = {
        .version = 1, .scopes = SCOPES_ALL, .id = STR("operator"), .name = STR("operator")};
    hash_key_text(key_text, from.hash);
    struct api_key *k = api_key_pack(&from);
    write_lock(d);
    struct api_key *was = d->operator_key;
    d->operator_key = k;
    directory_unlock(d);
    entry_unref(was);
}

uint32_t directory_next_no(struct directory *d, enum account_kind kind)
{
    directory_read_lock(d);
    uint32_t end = directory_end_locked(d, kind);
    directory_unlock(d);
    return end;
}

size_t directory_count(struct directory *d, enum account_kind k, uint32_t account_no)
{
    directory_read_lock(d);
    const struct kind *kind = &d->kinds[k];
    size_t count = account_no < kind->accounts ? kind->of_account[account_no] : 0;
    directory_unlock(d);
    return count;
}

/* --- lists ------------------------------------------------------------------------------- */

struct list_filter {
    uint32_t account_no, app_no; /* 0: any */
};

static bool matches(enum account_kind k, const void *entry, struct list_filter f)
{
    switch (k) {
    case ACCOUNT_PARTNER: return true;
    case ACCOUNT_APP: return !f.account_no || account_of(k, entry) == f.account_no;
    case ACCOUNT_CLIENT: {
        const struct client *c = entry;
        return c->account_no == f.account_no && (!f.app_no || c->app_no == f.app_no);
    }
    case ACCOUNT_KEY: return account_of(k, entry) == f.account_no;
    }
    UNREACHABLE();
}

static size_t list(struct directory *d, enum account_kind k, struct list_filter f,
                   uint32_t before_no, void **ret, size_t limit)
{
    directory_read_lock(d);
    const struct kind *kind = &d->kinds[k];
    uint32_t no = before_no && before_no <= kind->highest ? before_no - 1 : kind->highest;
    size_t n = 0;
    for (; no > 0 && n < limit; no--)
        if (kind->by_no[no] && matches(k, kind->by_no[no], f))
            ret[n++] = entry_ref(kind->by_no[no]);
    directory_unlock(d);
    return n;
}

size_t directory_list_partners(struct directory *d, uint32_t before_no, struct partner **ret,
                               size_t limit)
{
    return list(d, ACCOUNT_PARTNER, (struct list_filter){0}, before_no, (void **)ret, limit);
}

size_t directory_list_apps(struct directory *d, uint32_t account_no, uint32_t before_no,
                           struct app **ret, size_t limit)
{
    return list(d, ACCOUNT_APP, (struct list_filter){account_no, 0}, before_no, (void **)ret,
                limit);
}

size_t directory_list_clients(struct directory *d, uint32_t account_no, uint32_t app_no,
                              uint32_t before_no, struct client **ret, size_t limit)
{
    return list(d, ACCOUNT_CLIENT, (struct list_filter){account_no, app_no}, before_no,
                (void **)ret, limit);
}

size_t directory_list_keys(struct directory *d, uint32_t account_no, uint32_t before_no,
                           struct api_key **ret, size_t limit)
{
    return list(d, ACCOUNT_KEY, (struct list_filter){account_no, 0}, before_no, (void **)ret,
                limit);
}

int64_t directory_count_disabled_endpoints(struct directory *d)
{
    int64_t count = 0;
    directory_read_lock(d);
    for (uint32_t no = 1; no < directory_end_locked(d, ACCOUNT_APP); no++) {
        const struct app *app = directory_app_locked(d, no);
        for (int kind = LANE_SUCCESS; app && kind < LANE_KINDS; kind++)
            count += app->url[kind].p && app->terms.lane_disabled[kind];
    }
    directory_unlock(d);
    return count;
}
