/* The table of Idempotency-Keys. No timer removes old records: each new record looks at a few
 * others in turn and removes those that have expired. So the expired ones are never more than a
 * fraction of the live ones. */
#include "services/idempotency_records.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/hash_map.h"
#include "base/limits.h"
#include "base/list.h"
#include "json/reader.h"
#include "json/writer.h"

#include <stdlib.h>

#define IDEMPOTENCY_MAGIC 0x1DE3907Eu
#define LOOKED_AT 8 /* other records, checked by each new one */

/* Counts records of one key or person, or of an account. */
struct owner {
    struct hash_node node;
    struct list records;
    char id[IDEMPOTENCY_HASH_CHARS]; /* for an account its number and zeros */
};

struct request_record {
    struct hash_node node;
    struct link in_all, in_owner, in_account;
    struct owner *owner, *account;
    int64_t at_ms;
    struct idempotency_key key;
};

struct idempotency {
    uint32_t magic;
    struct env *env;
    struct hash_map by_id, owners; /* accounts are owners, too */
    struct list records;           /* in the order of the checks */
};

struct idempotency *idempotency_new(struct env *env)
{
    struct idempotency *all = xcalloc(1, sizeof *all);
    all->magic = IDEMPOTENCY_MAGIC;
    all->env = env;
    return all;
}

static struct request_record *find_record(const struct idempotency *all, struct str id)
{
    struct hash_node *at = hash_map_first(&all->by_id, hash_fast(id.p, id.n));
    while (at && !str_is(id, CONTAINER_OF(at, struct request_record, node)->key.id))
        at = hash_map_next(at);
    return at ? CONTAINER_OF(at, struct request_record, node) : NULL;
}

/* The owner whose id begins the record's id; NULL: none. */
static struct owner *find_owner(const struct idempotency *all, const char *id)
{
    struct hash_node *at = hash_map_first(&all->owners, hash_fast(id, IDEMPOTENCY_HASH_CHARS));
    while (at && memcmp(id, CONTAINER_OF(at, struct owner, node)->id, IDEMPOTENCY_HASH_CHARS) != 0)
        at = hash_map_next(at);
    return at ? CONTAINER_OF(at, struct owner, node) : NULL;
}

static struct owner *get_owner(struct idempotency *all, const char *id)
{
    struct owner *owner = find_owner(all, id);
    if (owner)
        return owner;
    owner = xcalloc(1, sizeof *owner);
    memcpy(owner->id, id, sizeof owner->id);
    hash_map_add(&all->owners, &owner->node, hash_fast(id, sizeof owner->id));
    return owner;
}

static void leave_owner(struct idempotency *all, struct owner *owner, struct link *in_owner)
{
    list_remove(&owner->records, in_owner);
    if (owner->records.count > 0)
        return;
    hash_map_remove(&all->owners, &owner->node);
    free(owner);
}

/* An account's id among owners: no hash in hex has zero bytes. */
static void name_account(char ret[IDEMPOTENCY_HASH_CHARS], uint32_t account_no)
{
    memset(ret, 0, IDEMPOTENCY_HASH_CHARS);
    memcpy(ret, &account_no, sizeof account_no);
}

static void forget(struct idempotency *all, struct request_record *r)
{
    hash_map_remove(&all->by_id, &r->node);
    list_remove(&all->records, &r->in_all);
    leave_owner(all, r->owner, &r->in_owner);
    leave_owner(all, r->account, &r->in_account);
    free(r);
}

void idempotency_free(struct idempotency *all)
{
    if (!all)
        return;
    CHECK_MAGIC(all, IDEMPOTENCY_MAGIC);
    while (all->records.first)
        forget(all, CONTAINER_OF(all->records.first, struct request_record, in_all));
    hash_map_free(&all->by_id);
    hash_map_free(&all->owners);
    all->magic = 0;
    free(all);
}

/* --- the document ---------------------------------------------------------------------------- */

static struct str print_record(const struct idempotency_key *key, const struct object_part *made,
                               int64_t at_ms, struct arena *arena)
{
    struct buf to = {0};
    struct json_writer w;
    json_write_to(&w, &to);
    json_object(&w);
    json_key_int(&w, "At", at_ms);
    json_key_c(&w, "Request", key->request);
    json_key_int(&w, "Kind", made->kind);
    json_key_string(&w, "Made", made->id);
    json_key_int(&w, "Matched", key->matched);
    json_key_int(&w, "Number", key->number);
    json_key_int(&w, "Account", key->account_no);
    json_end_object(&w);
    return arena_take(arena, &to);
}

static bool read_text(const struct json *object, const char *name, size_t most, char *ret)
{
    struct str text = json_member_text(object, name);
    if (!text.n || text.n > most)
        return false;
    memcpy(ret, text.p, text.n);
    ret[text.n] = '\0';
    return true;
}

static bool read_record(struct str document, struct request_record *ret)
{
    struct arena arena = {0};
    struct json *object = NULL;
    struct str why;
    bool good = json_parse(&arena, document, &object, &why) &&
                read_text(object, "Request", IDEMPOTENCY_HASH_CHARS, ret->key.request) &&
                read_text(object, "Made", IDEMPOTENCY_ID_MOST, ret->key.made);
    if (good) {
        ret->at_ms = json_member_int(object, "At", 0, INT64_MAX, &good);
        ret->key.kind = (enum object_kind)json_member_int(object, "Kind", 0, INT32_MAX, &good);
        ret->key.matched = json_member_int(object, "Matched", 0, INT64_MAX, &good);
        ret->key.number = json_member_int(object, "Number", 0, INT64_MAX, &good);
        ret->key.account_no = (uint32_t)json_member_int(object, "Account", 0, UINT32_MAX, &good);
    }
    arena_free(&arena);
    return good;
}

bool idempotency_refresh(struct idempotency *all, struct str id, struct str document)
{
    CHECK_MAGIC(all, IDEMPOTENCY_MAGIC);
    struct request_record *old = find_record(all, id);
    struct request_record *r = document.p ? xcalloc(1, sizeof *r) : NULL;
    char account[IDEMPOTENCY_HASH_CHARS];
    if (r && (id.n != IDEMPOTENCY_ID_CHARS || !read_record(document, r))) {
        free(r);
        return false;
    }
    if (old)
        forget(all, old);
    if (!r)
        return true;
    memcpy(r->key.id, id.p, id.n);
    name_account(account, r->key.account_no);
    r->owner = get_owner(all, r->key.id);
    r->account = get_owner(all, account);
    hash_map_add(&all->by_id, &r->node, hash_fast(id.p, id.n));
    list_push(&all->records, &r->in_all);
    list_push(&r->owner->records, &r->in_owner);
    list_push(&r->account->records, &r->in_account);
    return true;
}

/* --- for requests ---------------------------------------------------------------------------- */

static bool is_over(const struct idempotency *all, const struct request_record *r)
{
    return env_wall_ms(all->env) - r->at_ms >= IDEMPOTENCY_KEPT_MS;
}

bool idempotency_find(struct idempotency *all, struct idempotency_key *key)
{
    CHECK_MAGIC(all, IDEMPOTENCY_MAGIC);
    const struct request_record *r = find_record(all, str_of(key->id));
    key->made[0] = '\0';
    if (!r || is_over(all, r))
        return true;
    if (strcmp(r->key.request, key->request) != 0)
        return false;
    *key = r->key;
    return true;
}

/* The record to delete for a new one; NULL: none. The asker's own oldest if the asker is at the
 * limit, otherwise the account's: keys are made and revoked, the account stays. */
static struct request_record *find_surplus(const struct idempotency *all,
                                           const struct idempotency_key *key)
{
    char id[IDEMPOTENCY_HASH_CHARS];
    name_account(id, key->account_no);
    const struct owner *owner = find_owner(all, key->id), *account = find_owner(all, id);
    struct request_record *oldest = NULL;
    bool by_owner = owner && owner->records.count >= LIMIT_IDEMPOTENCY_KEYS;
    if (!by_owner && (!account || account->records.count < LIMIT_ACCOUNT_IDEMPOTENCY_KEYS))
        return NULL;
    for (struct link *at = (by_owner ? owner : account)->records.first; at; at = at->next) {
        struct request_record *r = by_owner ? CONTAINER_OF(at, struct request_record, in_owner)
                                            : CONTAINER_OF(at, struct request_record, in_account);
        if (!oldest || r->at_ms < oldest->at_ms)
            oldest = r;
    }
    return oldest;
}

static struct object_part removal_of(const struct request_record *r, struct arena *arena)
{
    return (struct object_part){.kind = OBJECT_IDEMPOTENCY_KEY,
                                .id = arena_str(arena, str_of(r->key.id))};
}

size_t idempotency_parts(struct idempotency *all, const struct idempotency_key *key,
                         const struct object_part *made, struct arena *arena,
                         struct object_part ret_parts[IDEMPOTENCY_PARTS])
{
    CHECK_MAGIC(all, IDEMPOTENCY_MAGIC);
    ASSERT(key && made->document.p && made->id.n <= IDEMPOTENCY_ID_MOST);
    size_t n = 0;
    const struct request_record *same = find_record(all, str_of(key->id)), *oldest = NULL;
    if (!same)
        oldest = find_surplus(all, key);
    if (oldest)
        ret_parts[n++] = removal_of(oldest, arena);
    for (size_t i = 0; i < LOOKED_AT && i < all->records.count && n < IDEMPOTENCY_PARTS - 1; i++) {
        struct link *first = all->records.first;
        const struct request_record *r = CONTAINER_OF(first, struct request_record, in_all);
        list_remove(&all->records, first);
        list_push(&all->records, first);
        if (r != same && r != oldest && is_over(all, r))
            ret_parts[n++] = removal_of(r, arena);
    }
    ret_parts[n++] = (struct object_part){
        .kind = OBJECT_IDEMPOTENCY_KEY,
        .id = str_of(key->id),
        .document = print_record(key, made, env_wall_ms(all->env), arena),
    };
    return n;
}
