/* Parses --sign-in-file. Any mistake is an error, so a typing error lets nobody in. */
#include "oidc/provider.h"

#include "accounts/fields.h"
#include "base/file.h"

#include <sodium.h>
#include <stdlib.h>

#define FILE_BYTES_MOST ((size_t)256 * 1024)
#define SECRET_BYTES_MOST 4096
#define TEXT_BYTES_MOST 1024

static const struct field_rule file_rules[] = {
    {"Providers", true, false},
    {"Passwords", true, false},
};
static const struct field_rule provider_rules[] = {
    {"Name", true, false},      {"Issuer", true, false},
    {"ClientId", true, false},  {"ClientSecretFile", true, false},
    {"Scopes", true, false},    {"GroupsClaim", true, false},
    {"PartnerId", true, false}, {"Groups", true, false},
    {"Passwords", true, false},
};

static void read_secret(struct providers *to, struct provider *p, struct str file,
                        struct problems *faults)
{
    struct buf text = {0};
    char *why = NULL;
    if (!file_read(file.p, SECRET_BYTES_MOST, &text, NULL, &why)) {
        problem_add(faults, STR("ClientSecretFile"), "invalid", "%s", why);
    } else {
        while (text.n && char_in(text.p[text.n - 1], "\r\n"))
            text.n--;
        p->client_secret = arena_str(&to->arena, buf_str(&text));
        if (text.n && memchr(text.p, '\0', text.n))
            problem_add(faults, STR("ClientSecretFile"), "invalid", "the file has a NUL byte");
        if (!text.n)
            problem_add(faults, STR("ClientSecretFile"), "invalid", "the file is empty");
        sodium_memzero(text.p, text.capacity);
    }
    free(why);
    buf_free(&text);
}

static void read_groups(struct providers *to, struct provider *p, const struct json *groups,
                        struct problems *faults)
{
    if (!groups || groups->type != JSON_OBJECT || !groups->count) {
        problem_add(faults, STR("Groups"), "required",
                    "must be an object of group names and roles, such as {\"staff\": \"%s\"}",
                    p->partner_id.p ? "developer" : "admin");
        return;
    }
    p->groups = arena_zalloc(&to->arena, groups->count * sizeof *p->groups);
    for (const struct json *m = groups->first; m; m = m->next) {
        struct provider_group *g = &p->groups[p->group_count++];
        g->group = m->name;
        if (m->type != JSON_STRING || !role_parse(m->text, &g->role) ||
            role_is_operators(g->role) != !p->partner_id.p)
            problem_add(faults, STR("Groups"), "invalid", "the role of \"%.*s\" must be %s",
                        STR_ARG(m->name),
                        p->partner_id.p ? "owner, developer or analyst"
                                        : "admin or support (or add PartnerId)");
    }
    if (json_repeated_member(groups).p)
        problem_add(faults, STR("Groups"), "invalid", "has a group twice");
}

/* Requires TLS, except for this machine: whoever can answer for the issuer can sign in as
 * anybody. */
static void check_issuer(struct providers *to, struct provider *p, struct problems *faults)
{
    struct url url;
    const char *why = NULL;
    if (!p->issuer.p)
        return;
    if (!url_parse(&to->arena, p->issuer, &url, &why))
        problem_add(faults, STR("Issuer"), "invalid", "%s", why);
    else if (!url.https && !str_is(url.host, "127.0.0.1") && !str_is(url.host, "localhost"))
        problem_add(faults, STR("Issuer"), "invalid", "must be https://...");
    else if (url.userinfo.p || memchr(p->issuer.p, '?', p->issuer.n))
        problem_add(faults, STR("Issuer"), "invalid", "must be without user and query");
}

static bool has_word(struct str list, const char *word)
{
    while (list.p)
        if (str_is(str_cut(&list, ' '), word))
            return true;
    return false;
}

static void make_key(struct provider *p)
{
    uint8_t hash[32];
    struct buf text = {0};
    buf_printf(&text, "%.*s\n%.*s\n%.*s", STR_ARG(p->issuer), STR_ARG(p->client_id),
               STR_ARG(p->partner_id));
    crypto_hash_sha256(hash, (const unsigned char *)text.p, text.n);
    sodium_bin2base64(p->key, sizeof p->key, hash, 16, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    buf_free(&text);
}

static void read_provider(struct providers *to, const struct json *v, struct problems *faults)
{
    static const char *const required[] = {"Name", "Issuer", "ClientId", "Groups"};
    struct provider *p = &to->list[to->count++];
    struct fields f = {.body = v, .faults = faults};
    struct str secret_file = STR_NONE;
    *p = (struct provider){
        .scopes = STR("openid email profile"), .groups_claim = STR("groups"), .passwords = true};
    if (!fields_check(&f, provider_rules, ARRAY_LEN(provider_rules)))
        return;
    for (size_t i = 0; i < ARRAY_LEN(required); i++)
        fields_required(&f, required[i]);
    fields_text(&f, "Name", 1, 64, &p->name);
    fields_text(&f, "Issuer", 1, TEXT_BYTES_MOST, &p->issuer);
    fields_text(&f, "ClientId", 1, TEXT_BYTES_MOST, &p->client_id);
    fields_text(&f, "ClientSecretFile", 1, TEXT_BYTES_MOST, &secret_file);
    fields_text(&f, "Scopes", 1, TEXT_BYTES_MOST, &p->scopes);
    fields_text(&f, "GroupsClaim", 1, TEXT_BYTES_MOST, &p->groups_claim);
    fields_id(&f, "PartnerId", &p->partner_id);
    fields_bool(&f, "Passwords", &p->passwords);
    if (!has_word(p->scopes, "openid"))
        problem_add(faults, STR("Scopes"), "invalid", "must have the word openid");
    check_issuer(to, p, faults);
    if (fields_given(&f, "Groups"))
        read_groups(to, p, json_member(v, "Groups"), faults);
    if (secret_file.p)
        read_secret(to, p, arena_str(&to->arena, secret_file), faults);
    p->groups_claim = arena_str(&to->arena, p->groups_claim); /* with a NUL, as a name */
    make_key(p);
}

/* Adds a problem if a sign-in could mean two of them. */
static bool has_twice(const struct providers *p, struct problems *faults)
{
    for (size_t i = 1; i < p->count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(p->list[i].key, p->list[k].key) == 0)
                problem_add(faults, STR("Issuer"), "invalid",
                            "another provider has the same Issuer, ClientId and PartnerId");
    return faults->count;
}

static bool fail(const struct problems *faults, size_t provider, char **ret_why)
{
    const struct problem *first = faults->first;
    char at[32] = "";
    if (provider)
        snprintf(at, sizeof at, "provider %zu: ", provider);
    *ret_why = xprintf("%s%.*s%s%.*s", at, STR_ARG(first->field), first->field.n ? ": " : "",
                       STR_ARG(first->detail));
    return false;
}

bool providers_parse(struct providers *ret, struct str text, char **ret_why)
{
    struct json *v = NULL;
    struct str why = STR_NONE;
    *ret = (struct providers){.passwords = true};
    struct problems faults = {.arena = &ret->arena};
    if (!json_parse(&ret->arena, arena_str(&ret->arena, text), &v, &why)) {
        *ret_why = xprintf("%.*s", STR_ARG(why));
        return false;
    }
    struct fields f = {.body = v, .faults = &faults};
    const struct json *list = json_member(v, "Providers");
    bool is_list = list && list->type == JSON_ARRAY && list->count && list->count <= PROVIDERS_MOST;
    if (fields_check(&f, file_rules, ARRAY_LEN(file_rules)))
        fields_bool(&f, "Passwords", &ret->passwords);
    if (!faults.count && !is_list)
        problem_add(&faults, STR("Providers"), "required", "must be a list of 1 to %d providers",
                    PROVIDERS_MOST);
    if (faults.count || !is_list)
        return fail(&faults, 0, ret_why);
    ret->list = arena_zalloc(&ret->arena, list->count * sizeof *ret->list);
    for (const struct json *m = list->first; m; m = m->next) {
        read_provider(ret, m, &faults);
        if (faults.count || has_twice(ret, &faults))
            return fail(&faults, ret->count, ret_why);
    }
    return true;
}

bool providers_read(struct providers *ret, const char *file, char **ret_why)
{
    struct buf text = {0};
    char *why = NULL;
    *ret = (struct providers){0};
    bool good = file_read(file, FILE_BYTES_MOST, &text, NULL, ret_why);
    if (good && !providers_parse(ret, buf_str(&text), &why)) {
        *ret_why = xprintf("sign-in-file: %s: %s", file, why);
        good = false;
    } else if (!good) {
        why = *ret_why;
        *ret_why = xprintf("sign-in-file: %s", why);
    }
    free(why);
    buf_free(&text);
    return good;
}

void providers_free(struct providers *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i].client_secret.p)
            sodium_memzero((char *)p->list[i].client_secret.p, p->list[i].client_secret.n);
    arena_free(&p->arena);
    *p = (struct providers){0};
}

static bool is_in(struct str group, const struct json *groups)
{
    if (groups->type == JSON_STRING)
        return str_eq(groups->text, group);
    for (const struct json *g = groups->type == JSON_ARRAY ? groups->first : NULL; g; g = g->next)
        if (g->type == JSON_STRING && str_eq(g->text, group))
            return true;
    return false;
}

enum role provider_role(const struct provider *p, const struct json *groups)
{
    for (size_t i = 0; groups && i < p->group_count; i++)
        if (is_in(p->groups[i].group, groups))
            return p->groups[i].role;
    return ROLE_NONE;
}
