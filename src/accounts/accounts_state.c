/* Begins, applies and frees one change; see changes.h. */
#include "accounts/accounts_state.h"

#include "accounts/document.h"
#include "accounts/entry.h"
#include "accounts/render.h"
#include "base/alloc.h"

#include <sodium.h>
#include <stdlib.h>

#define SECRET_RANDOM_BYTES 32

struct accounts *accounts_new(const struct accounts_options *options)
{
    struct accounts *accounts = xcalloc(1, sizeof *accounts);
    accounts->magic = ACCOUNTS_MAGIC;
    accounts->options = *options;
    accounts->options.rules = destination_rules_copy(&options->rules);
    return accounts;
}

void accounts_set_rules(struct accounts *accounts, const struct destination_rules *rules)
{
    CHECK_MAGIC(accounts, ACCOUNTS_MAGIC);
    destination_rules_free(&accounts->options.rules);
    accounts->options.rules = destination_rules_copy(rules);
}

void accounts_free(struct accounts *accounts)
{
    if (!accounts)
        return;
    CHECK_MAGIC(accounts, ACCOUNTS_MAGIC);
    destination_rules_free(&accounts->options.rules);
    sodium_memzero(accounts, sizeof *accounts);
    free(accounts);
}

void accounts_put(struct directory *d, enum account_kind kind, void *entry)
{
    switch (kind) {
    case ACCOUNT_PARTNER: directory_put_partner(d, entry); return;
    case ACCOUNT_APP: directory_put_app(d, entry); return;
    case ACCOUNT_CLIENT: directory_put_client(d, entry); return;
    case ACCOUNT_KEY: directory_put_key(d, entry); return;
    }
    UNREACHABLE();
}

struct fields accounts_fields(struct accounts *accounts, const struct json *body, bool patch,
                              struct problems *faults)
{
    CHECK_MAGIC(accounts, ACCOUNTS_MAGIC);
    ASSERT(!accounts->busy);
    return (struct fields){
        .body = body, .faults = faults, .patch = patch, .rules = &accounts->options.rules};
}

static bool is_taken(struct directory *d, enum account_kind kind, struct str id)
{
    void *entry = directory_entry(d, kind, id);
    entry_unref(entry);
    return entry != NULL;
}

/* 16 characters of 32: 80 random bits, easy to read aloud. */
static struct str made_id(struct accounts *accounts, struct arena *arena, const char *prefix)
{
    static const char alphabet[] = "abcdefghijkmnpqrstuvwxyz23456789";
    uint8_t random[16];
    env_random(accounts->options.env, random, sizeof random);
    size_t prefix_bytes = strlen(prefix);
    char *id = arena_alloc(arena, prefix_bytes + sizeof random);
    memcpy(id, prefix, prefix_bytes);
    for (size_t i = 0; i < sizeof random; i++)
        id[prefix_bytes + i] = alphabet[random[i] & 31];
    return (struct str){id, prefix_bytes + sizeof random};
}

bool accounts_new_id(struct accounts *accounts, const struct fields *f, enum account_kind kind,
                     const char *name, const char *prefix, struct str *ret_id)
{
    struct directory *d = accounts->options.directory;
    struct str id = STR_NONE;
    fields_id(f, name, &id);
    if (id.p && is_taken(d, kind, id)) {
        problem_add(f->faults, str_of(name), "conflict", "this id is taken");
        return false;
    }
    if (!id.p && fields_given(f, name))
        return false;
    while (!id.p || is_taken(d, kind, id))
        id = made_id(accounts, f->faults->arena, prefix);
    *ret_id = id;
    return true;
}

struct str accounts_new_secret(struct accounts *accounts, struct arena *arena)
{
    uint8_t random[SECRET_RANDOM_BYTES];
    char *text = arena_alloc(arena, SECRET_TEXT_MAX);
    env_random(accounts->options.env, random, sizeof random);
    int n = signature_make_secret(random, sizeof random, text);
    sodium_memzero(random, sizeof random);
    return (struct str){text, (size_t)n};
}

enum change_result accounts_refusal(const struct problems *faults)
{
    for (const struct problem *p = faults->first; p; p = p->next)
        if (strcmp(p->code, "conflict") != 0)
            return CHANGE_INVALID;
    return CHANGE_CONFLICT;
}

bool accounts_have_room(struct accounts *accounts, enum account_kind kind, uint32_t account_no,
                        struct problems *faults)
{
    static const struct {
        const char *field, *things, *way_out;
        size_t most;
    } bounds[ACCOUNT_KIND_LAST + 1] = {
        [ACCOUNT_APP] = {"AppId", "apps", "Apps are never deleted: change one that is not used.",
                         LIMIT_ACCOUNT_APPS},
        [ACCOUNT_CLIENT] = {"ClientId", "clients",
                            "Clients are never deleted: change one that is not used.",
                            LIMIT_ACCOUNT_CLIENTS},
        [ACCOUNT_KEY] = {"KeyId", "keys", "Revoke one first.", LIMIT_ACCOUNT_KEYS},
    };
    ASSERT(bounds[kind].most);
    if (directory_count(accounts->options.directory, kind, account_no) < bounds[kind].most)
        return true;
    problem_add(faults, str_of(bounds[kind].field), PROBLEM_TOO_MANY,
                "This account has %zu %s, the most it may have. %s", bounds[kind].most,
                bounds[kind].things, bounds[kind].way_out);
    return false;
}

enum change_result accounts_judge_patch(const struct problems *faults, struct str if_match,
                                        uint64_t version)
{
    if (faults->count)
        return CHANGE_INVALID;
    return etag_matches(if_match, version) ? CHANGE_READY : CHANGE_STALE;
}

static void print_document(struct accounts *accounts, struct change *change)
{
    const struct accounts_options *o = &accounts->options;
    switch (change->kind) {
    case ACCOUNT_PARTNER:
        document_print_partner(&change->document, change->partner, &o->vault, o->env);
        return;
    case ACCOUNT_APP: document_print_app(&change->document, change->app, &o->vault, o->env); return;
    case ACCOUNT_CLIENT: document_print_client(&change->document, change->client); return;
    case ACCOUNT_KEY: document_print_key(&change->document, change->key); return;
    }
    UNREACHABLE();
}

void accounts_ready(struct accounts *accounts, struct change *change, enum account_kind kind,
                    void *entry, struct str id)
{
    ASSERT(!accounts->busy);
    accounts->busy = true;
    *change = (struct change){.kind = kind, .id = id, .entry = entry};
    print_document(accounts, change);
    if (kind == ACCOUNT_PARTNER)
        change->partner->under_second_key = false;
    else if (kind == ACCOUNT_APP)
        change->app->under_second_key = false;
}

enum change_result change_find(struct accounts *accounts, enum account_kind kind, struct str id,
                               struct change *ret_change)
{
    ASSERT(!accounts->busy);
    void *entry = directory_entry(accounts->options.directory, kind, id);
    if (!entry)
        return CHANGE_NOT_FOUND;
    accounts->busy = true;
    *ret_change = (struct change){.kind = kind, .id = id, .entry = entry};
    return CHANGE_READY;
}

void change_apply(struct accounts *accounts, struct change *change)
{
    CHECK_MAGIC(accounts, ACCOUNTS_MAGIC);
    ASSERT(accounts->busy && !change->applied);
    if (change->remove)
        directory_remove_key(accounts->options.directory, change->id);
    else
        accounts_put(accounts->options.directory, change->kind, entry_ref(change->entry));
    change->applied = true;
}

void change_free(struct accounts *accounts, struct change *change)
{
    CHECK_MAGIC(accounts, ACCOUNTS_MAGIC);
    ASSERT(accounts->busy);
    accounts->busy = false;
    buf_free(&change->document);
    entry_unref(change->entry);
    sodium_memzero(change->key_text, sizeof change->key_text);
    change->entry = NULL;
    change->id = STR_NONE;
}
