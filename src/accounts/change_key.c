/* Creates and revokes API keys. Only the answer to the creation has the key's text; the store
 * keeps its SHA-256. */
#include "accounts/accounts_state.h"
#include "accounts/entry.h"
#include "accounts/names.h"
#include "accounts/render.h"
#include "base/buf.h"

#include <sodium.h>

static const struct field_rule key_rules[] = {
    {"KeyId", true, false},
    {"Name", true, false},
    {"Scopes", true, false},
    {"ExpiresAt", true, false},
};

static void key_expiry(const struct fields *f, int64_t now_ms, int64_t *ret_ms)
{
    const struct json *v = json_member(f->body, "ExpiresAt");
    size_t before = f->faults->count;
    if (!v || v->type == JSON_NULL)
        return;
    fields_time(f, "ExpiresAt", ret_ms);
    if (f->faults->count == before && *ret_ms <= now_ms)
        problem_add(f->faults, STR("ExpiresAt"), "out_of_range", "must be in the future");
}

static void refuse_scope(struct problems *to, struct str given)
{
    struct buf names = {0};
    scopes_print(&names, ~(uint32_t)SCOPE_ADMIN);
    problem_add(to, STR("Scopes"), "invalid", "'%.*s' is not a scope; there are %s",
                given.n <= 64 ? (int)given.n : 0, given.p ? given.p : "", buf_c(&names));
    buf_free(&names);
}

static void key_scope(const struct fields *f, const struct json *v, uint32_t *scopes)
{
    uint32_t bit = 0;
    if (v->type != JSON_STRING || !scope_parse(v->text, &bit))
        refuse_scope(f->faults, v->text);
    else if (bit == SCOPE_ADMIN)
        problem_add(f->faults, STR("Scopes"), "invalid", "a partner's key cannot have admin");
    else
        *scopes |= bit;
}

static void key_scopes(const struct fields *f, uint32_t *scopes)
{
    const struct json *v = json_member(f->body, "Scopes");
    if (!v)
        return;
    if (v->type != JSON_ARRAY || v->count == 0 || v->count > scope_count) {
        problem_add(f->faults, STR("Scopes"), "invalid", "must be a list of 1 to %zu scopes",
                    scope_count);
        return;
    }
    for (const struct json *e = v->first; e; e = e->next)
        key_scope(f, e, scopes);
}

static bool grantable(struct problems *faults, const struct api_key *k,
                      const struct key_maker *maker)
{
    if (maker->scopes & SCOPE_ADMIN)
        return true;
    for (size_t i = 0; i < scope_count; i++)
        if (k->scopes & ~maker->scopes & scope_names[i].bit)
            problem_add(faults, STR("Scopes"), "forbidden",
                        "the key that creates this one does not have the scope %s",
                        scope_names[i].name);
    if (maker->expires_ms && k->expires_ms > maker->expires_ms)
        problem_add(faults, STR("ExpiresAt"), "forbidden",
                    "the key that creates this one expires earlier");
    return faults->count == 0;
}

static void make_key_text(struct accounts *accounts, char ret_text[KEY_TEXT_BYTES + 1])
{
    uint8_t random[32];
    const size_t prefix_bytes = sizeof KEY_TEXT_PREFIX - 1;
    env_random(accounts->options.env, random, sizeof random);
    memcpy(ret_text, KEY_TEXT_PREFIX, prefix_bytes);
    sodium_bin2base64(ret_text + prefix_bytes, KEY_TEXT_BYTES + 1 - prefix_bytes, random,
                      sizeof random, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(random, sizeof random);
}

enum change_result change_create_key(struct accounts *accounts, struct str partner_id,
                                     const struct key_maker *maker, const struct json *body,
                                     struct problems *faults, struct change *ret_change)
{
    struct fields f = accounts_fields(accounts, body, false, faults);
    struct partner *partner = directory_partner(accounts->options.directory, partner_id);
    struct api_key k = {
        .version = 1,
        .person = maker->person,
        .by_operator = maker->by_operator,
        .expires_ms = maker->expires_ms,
    };
    if (!partner)
        return CHANGE_NOT_FOUND;
    k.account_no = partner->account_no;
    partner_unref(partner);
    if (!fields_check(&f, key_rules, ARRAY_LEN(key_rules)))
        return CHANGE_INVALID;
    if (accounts_new_id(accounts, &f, ACCOUNT_KEY, "KeyId", "k_", &k.id))
        k.name = k.id;
    fields_text(&f, "Name", 1, NAME_BYTES_MAX, &k.name);
    fields_required(&f, "Scopes");
    key_scopes(&f, &k.scopes);
    key_expiry(&f, env_wall_ms(accounts->options.env), &k.expires_ms);
    if (faults->count)
        return accounts_refusal(faults);
    if (!grantable(faults, &k, maker))
        return CHANGE_FORBIDDEN;
    if (!accounts_have_room(accounts, ACCOUNT_KEY, k.account_no, faults))
        return CHANGE_TOO_MANY;

    char text[KEY_TEXT_BYTES + 1];
    make_key_text(accounts, text);
    crypto_hash_sha256(k.hash, (const unsigned char *)text, KEY_TEXT_BYTES);
    k.key_no = directory_next_no(accounts->options.directory, ACCOUNT_KEY);
    struct api_key *entry = api_key_pack(&k);
    accounts_ready(accounts, ret_change, ACCOUNT_KEY, entry, entry->id);
    memcpy(ret_change->key_text, text, sizeof text);
    sodium_memzero(text, sizeof text);
    return CHANGE_READY;
}

enum change_result change_revoke_key(struct accounts *accounts, uint32_t account_no,
                                     struct str key_id, struct str if_match,
                                     struct change *ret_change)
{
    CHECK_MAGIC(accounts, ACCOUNTS_MAGIC);
    struct api_key *k = directory_key(accounts->options.directory, key_id);
    if (!k || k->account_no != account_no) {
        api_key_unref(k);
        return CHANGE_NOT_FOUND;
    }
    if (!etag_matches(if_match, k->version)) {
        api_key_unref(k);
        return CHANGE_STALE;
    }
    accounts_ready(accounts, ret_change, ACCOUNT_KEY, k, k->id);
    buf_free(&ret_change->document);
    ret_change->remove = true;
    return CHANGE_READY;
}
