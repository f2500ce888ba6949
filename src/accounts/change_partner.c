/* Creates and patches partners and clients. A new partner gets the secret that signs messages to
 * its OperationsUrl; the operator's own secret is derived from the master key. */
#include "accounts/accounts_state.h"
#include "accounts/entry.h"
#include "accounts/names.h"

static const struct field_rule partner_rules[] = {
    {"PartnerId", true, false},      {"Name", true, true},
    {"Enabled", true, true},         {"OperationsUrl", true, true},
    {"OperationsEmail", true, true}, {"OperationsFormat", true, true},
    {"Cluster", true, false},
};

static const struct field_rule client_rules[] = {
    {"ClientId", true, false},
    {"Name", true, true},
    {"Integration", true, true},
    {"Enabled", true, true},
};

static void partner_fields(const struct fields *f, bool sends_mail, struct partner *p)
{
    fields_text(f, "Name", 1, NAME_BYTES_MAX, &p->name);
    fields_operators_only(f, "Enabled");
    fields_bool(f, "Enabled", &p->enabled);
    fields_url(f, "OperationsUrl", &p->operations_url);
    fields_operations_format(f, "OperationsFormat", &p->operations_format);
    fields_email(f, "OperationsEmail", &p->operations_email);
    if (fields_given(f, "OperationsEmail") && p->operations_email.p && !sends_mail)
        problem_add(f->faults, STR("OperationsEmail"), "invalid",
                    "this server sends no e-mail: its operator has set no smtp-url");
}

/* The requested cluster, otherwise the one with the fewest accounts. */
static uint32_t choose_cluster(const struct accounts *accounts, const struct fields *f)
{
    uint32_t count = accounts->options.cluster_count;
    if (count < 2)
        count = 1;
    int64_t asked = -1;
    fields_int(f, "Cluster", 0, count - 1, &asked);
    if (asked >= 0)
        return (uint32_t)asked;
    return directory_least_cluster(accounts->options.directory, count);
}

enum change_result change_create_partner(struct accounts *accounts, const struct json *body,
                                         struct problems *faults, struct change *ret_change)
{
    struct fields f = accounts_fields(accounts, body, false, faults);
    struct partner p = {.version = 1, .enabled = true};
    if (!fields_check(&f, partner_rules, ARRAY_LEN(partner_rules)))
        return CHANGE_INVALID;
    if (accounts_new_id(accounts, &f, ACCOUNT_PARTNER, "PartnerId", "p_", &p.id))
        p.name = p.id;
    partner_fields(&f, accounts->options.sends_mail, &p);
    p.cluster = choose_cluster(accounts, &f);
    if (faults->count)
        return accounts_refusal(faults);
    p.account_no = directory_next_no(accounts->options.directory, ACCOUNT_PARTNER);
    p.operations_secrets.newest = accounts_new_secret(accounts, faults->arena);
    struct partner *entry = partner_pack(&p);
    accounts_ready(accounts, ret_change, ACCOUNT_PARTNER, entry, entry->id);
    return CHANGE_READY;
}

enum change_result change_patch_partner(struct accounts *accounts, struct str partner_id,
                                        bool by_partner, struct str if_match,
                                        const struct json *body, struct problems *faults,
                                        struct change *ret_change)
{
    struct fields f = accounts_fields(accounts, body, true, faults);
    f.by_partner = by_partner;
    struct partner *now = directory_partner(accounts->options.directory, partner_id);
    enum change_result result = CHANGE_NOT_FOUND;
    if (!now)
        return result;
    struct partner p;
    memcpy(&p, now, sizeof p);
    if (fields_check(&f, partner_rules, ARRAY_LEN(partner_rules)))
        partner_fields(&f, accounts->options.sends_mail, &p);
    p.version++;
    result = accounts_judge_patch(faults, if_match, now->version);
    if (result == CHANGE_READY) {
        struct partner *entry = partner_pack(&p);
        accounts_ready(accounts, ret_change, ACCOUNT_PARTNER, entry, entry->id);
    }
    partner_unref(now);
    return result;
}

/* Derived, so that nothing has to be stored for it. */
static void derive_operator_secret(const uint8_t key[MASTER_KEY_BYTES], char ret[SECRET_TEXT_MAX])
{
    uint8_t bytes[VAULT_DERIVED_BYTES];
    vault_derive(key, STR("operator-operations-secret"), bytes);
    (void)signature_make_secret(bytes, sizeof bytes, ret);
    explicit_bzero(bytes, sizeof bytes);
}

size_t accounts_operator_secrets(const struct accounts *accounts,
                                 char ret_secrets[2][SECRET_TEXT_MAX])
{
    CHECK_MAGIC(accounts, ACCOUNTS_MAGIC);
    const struct vault *vault = &accounts->options.vault;
    derive_operator_secret(vault->key, ret_secrets[0]);
    if (!vault->has_second)
        return 1;
    derive_operator_secret(vault->second, ret_secrets[1]);
    return 2;
}

static void client_fields(const struct fields *f, struct client *c)
{
    struct str integration = str_of(integration_name(c->integration));
    fields_text(f, "Name", 1, NAME_BYTES_MAX, &c->name);
    fields_bool(f, "Enabled", &c->enabled);
    size_t before = f->faults->count;
    fields_text(f, "Integration", 0, NAME_BYTES_MAX, &integration);
    if (f->faults->count == before && !integration_parse(integration, &c->integration))
        problem_add(f->faults, STR("Integration"), "invalid",
                    "must be sdk, iframe or monetization_api");
}

enum change_result change_create_client(struct accounts *accounts, struct str app_id,
                                        const struct json *body, struct problems *faults,
                                        struct change *ret_change)
{
    struct fields f = accounts_fields(accounts, body, false, faults);
    struct app *app = directory_app(accounts->options.directory, app_id);
    struct client c = {.version = 1, .enabled = true, .integration = INTEGRATION_SDK};
    enum change_result result = CHANGE_READY;
    if (!app)
        return CHANGE_NOT_FOUND;
    if (fields_check(&f, client_rules, ARRAY_LEN(client_rules))) {
        if (accounts_new_id(accounts, &f, ACCOUNT_CLIENT, "ClientId", "c_", &c.id))
            c.name = c.id;
        client_fields(&f, &c);
    }
    if (faults->count) {
        result = accounts_refusal(faults);
    } else if (!accounts_have_room(accounts, ACCOUNT_CLIENT, app->terms.account_no, faults)) {
        result = CHANGE_TOO_MANY;
    } else {
        c.client_no = directory_next_no(accounts->options.directory, ACCOUNT_CLIENT);
        c.app_no = app->app_no;
        c.account_no = app->terms.account_no;
        c.app_id = app->id;
        struct client *entry = client_pack(&c);
        accounts_ready(accounts, ret_change, ACCOUNT_CLIENT, entry, entry->id);
    }
    app_unref(app);
    return result;
}

enum change_result change_patch_client(struct accounts *accounts, struct str client_id,
                                       struct str if_match, const struct json *body,
                                       struct problems *faults, struct change *ret_change)
{
    struct fields f = accounts_fields(accounts, body, true, faults);
    struct client *now = directory_client(accounts->options.directory, client_id);
    enum change_result result = CHANGE_NOT_FOUND;
    if (!now)
        return result;
    struct client c;
    memcpy(&c, now, sizeof c);
    if (fields_check(&f, client_rules, ARRAY_LEN(client_rules)))
        client_fields(&f, &c);
    c.version++;
    result = accounts_judge_patch(faults, if_match, now->version);
    if (result == CHANGE_READY) {
        struct client *entry = client_pack(&c);
        accounts_ready(accounts, ret_change, ACCOUNT_CLIENT, entry, entry->id);
    }
    client_unref(now);
    return result;
}
