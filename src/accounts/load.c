/* Fills the directory from the store's documents at the start; see changes.h. Somebody may have
 * edited the documents, and after the start everything relies on them. So entries that do not fit
 * together stop the start, and the error names the entry. */
#include "accounts/accounts_state.h"
#include "accounts/document.h"
#include "accounts/entry.h"

static void *read_document(struct accounts *accounts, struct arena *arena, enum account_kind kind,
                           const struct json *document, struct str *ret_why)
{
    const struct vault *vault = &accounts->options.vault;
    struct partner *p = NULL;
    struct app *a = NULL;
    struct client *c = NULL;
    struct api_key *k = NULL;
    switch (kind) {
    case ACCOUNT_PARTNER:
        return document_read_partner(arena, document, vault, &p, ret_why) ? p : NULL;
    case ACCOUNT_APP: return document_read_app(arena, document, vault, &a, ret_why) ? a : NULL;
    case ACCOUNT_CLIENT: return document_read_client(arena, document, &c, ret_why) ? c : NULL;
    case ACCOUNT_KEY: return document_read_key(arena, document, &k, ret_why) ? k : NULL;
    }
    UNREACHABLE();
}

/* True if the directory has an entry with this entry's id or number. */
static bool is_there(struct directory *d, enum account_kind kind, void *entry)
{
    void *by_id = NULL, *by_no = NULL;
    switch (kind) {
    case ACCOUNT_PARTNER: {
        const struct partner *p = entry;
        by_id = directory_partner(d, p->id);
        by_no = directory_partner_by_no(d, p->account_no);
        break;
    }
    case ACCOUNT_APP: {
        const struct app *a = entry;
        by_id = directory_app(d, a->id);
        by_no = directory_app_by_no(d, a->app_no);
        break;
    }
    case ACCOUNT_CLIENT: {
        const struct client *c = entry;
        by_id = directory_client(d, c->id);
        by_no = directory_client_by_no(d, c->client_no);
        break;
    }
    case ACCOUNT_KEY: {
        const struct api_key *k = entry;
        by_id = directory_key(d, k->id);
        by_no = directory_key_by_no(d, k->key_no);
        break;
    }
    }
    entry_unref(by_id);
    entry_unref(by_no);
    return by_id || by_no;
}

bool accounts_load(struct accounts *accounts, struct arena *arena, enum account_kind kind,
                   struct str id, struct str document, struct str *ret_why)
{
    CHECK_MAGIC(accounts, ACCOUNTS_MAGIC);
    struct json *v = NULL;
    struct str why = STR_NONE;
    void *entry = NULL;
    if (json_parse(arena, document, &v, &why))
        entry = read_document(accounts, arena, kind, v, &why);
    if (entry && is_there(accounts->options.directory, kind, entry)) {
        why = STR("another entry has its id or number");
        entry_unref(entry);
        entry = NULL;
    }
    if (entry) {
        accounts_put(accounts->options.directory, kind, entry);
        return true;
    }
    *ret_why = arena_print(arena, "stored account entry %.*s: %.*s", STR_ARG(id), STR_ARG(why));
    return false;
}

static uint32_t cluster_count(const struct accounts *accounts)
{
    return accounts->options.cluster_count ? accounts->options.cluster_count : 1;
}

/* False for a partner in a cluster that this daemon was not given, and for what belongs to that
 * partner. Another daemon, which knows the cluster, has created it. Here its events would be stored
 * in the wrong cluster. */
static bool has_place(struct accounts *accounts, enum account_kind kind, const void *entry)
{
    uint32_t account_no = 0;
    switch (kind) {
    case ACCOUNT_PARTNER: return ((const struct partner *)entry)->cluster < cluster_count(accounts);
    case ACCOUNT_APP: account_no = ((const struct app *)entry)->terms.account_no; break;
    case ACCOUNT_CLIENT: account_no = ((const struct client *)entry)->account_no; break;
    case ACCOUNT_KEY: account_no = ((const struct api_key *)entry)->account_no; break;
    }
    struct partner *p = directory_partner_by_no(accounts->options.directory, account_no);
    partner_unref(p);
    return p || account_no == 0;
}

bool accounts_refresh(struct accounts *accounts, struct arena *arena, enum account_kind kind,
                      struct str id, struct str document, struct str *ret_why)
{
    CHECK_MAGIC(accounts, ACCOUNTS_MAGIC);
    struct json *v = NULL;
    if (!document.p) {
        if (kind == ACCOUNT_KEY) /* nothing else is ever deleted */
            directory_remove_key(accounts->options.directory, id);
        return true;
    }
    void *entry = NULL;
    if (json_parse(arena, document, &v, ret_why))
        entry = read_document(accounts, arena, kind, v, ret_why);
    if (entry && !has_place(accounts, kind, entry)) {
        *ret_why = STR("it belongs to a cluster that is not given with --store-cluster");
        entry_unref(entry);
        entry = NULL;
    }
    if (entry)
        accounts_put(accounts->options.directory, kind, entry);
    return entry != NULL;
}

/* The id of an entry whose partner or app is missing; absent: none. */
static struct str first_orphan(struct directory *d, struct arena *arena, const char **ret_kind)
{
    struct str orphan = STR_NONE;
    directory_read_lock(d);
    for (uint32_t no = 1; no < directory_end_locked(d, ACCOUNT_APP); no++) {
        const struct app *a = directory_app_locked(d, no);
        if (a && !directory_partner_locked(d, a->terms.account_no)) {
            orphan = arena_str(arena, a->id);
            *ret_kind = "app";
        }
    }
    for (uint32_t no = 1; no < directory_end_locked(d, ACCOUNT_CLIENT); no++) {
        const struct client *c = directory_client_by_no_locked(d, no);
        const struct app *a = c ? directory_app_locked(d, c->app_no) : NULL;
        if (c && (!a || a->terms.account_no != c->account_no)) {
            orphan = arena_str(arena, c->id);
            *ret_kind = "client";
        }
    }
    for (uint32_t no = 1; no < directory_end_locked(d, ACCOUNT_KEY); no++) {
        const struct api_key *k = directory_key_by_no_locked(d, no);
        if (k && k->account_no && !directory_partner_locked(d, k->account_no)) {
            orphan = arena_str(arena, k->id);
            *ret_kind = "key";
        }
    }
    directory_unlock(d);
    return orphan;
}

static bool clusters_are_named(struct accounts *accounts, struct arena *arena, struct str *ret_why)
{
    struct directory *d = accounts->options.directory;
    uint32_t count = cluster_count(accounts);
    bool good = true;
    directory_read_lock(d);
    for (uint32_t no = 1; good && no < directory_end_locked(d, ACCOUNT_PARTNER); no++) {
        const struct partner *p = directory_partner_locked(d, no);
        good = !p || p->cluster < count;
        if (!good)
            *ret_why = arena_print(arena,
                                   "the events of partner %.*s are in cluster %u: name it with"
                                   " --store-cluster",
                                   STR_ARG(p->id), p->cluster);
    }
    directory_unlock(d);
    return good;
}

bool accounts_loaded(struct accounts *accounts, struct arena *arena, struct str *ret_why)
{
    CHECK_MAGIC(accounts, ACCOUNTS_MAGIC);
    const char *kind = NULL;
    if (!clusters_are_named(accounts, arena, ret_why))
        return false;
    struct str orphan = first_orphan(accounts->options.directory, arena, &kind);
    if (!orphan.p)
        return true;
    *ret_why =
        arena_print(arena, "stored account entries do not fit together: %s %.*s belongs to none",
                    kind, STR_ARG(orphan));
    return false;
}
