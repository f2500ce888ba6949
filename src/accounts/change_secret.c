/* Rotating the secrets of apps and of messages to partners. */
#include "accounts/accounts_state.h"
#include "accounts/entry.h"

#define OVERLAP_SECONDS_MAX (30 * 86400)

/* An app's callbacks carry Sig, a partner's messages do not. */
static const struct field_rule rotation_rules[] = {
    {"OverlapSeconds", true, false},
    {"SigSwitch", true, false},
};
#define RULES_OF_APPS ARRAY_LEN(rotation_rules)
#define RULES_OF_MESSAGES 1

struct rotation {
    int64_t overlap_s;
    bool sig_at_end;
};

static void rotation_fields(const struct fields *f, size_t rules, struct rotation *r)
{
    struct str sig_switch = STR("now");
    if (!fields_check(f, rotation_rules, rules))
        return;
    fields_int(f, "OverlapSeconds", 0, OVERLAP_SECONDS_MAX, &r->overlap_s);
    if (rules == RULES_OF_MESSAGES)
        return;
    size_t before = f->faults->count;
    fields_text(f, "SigSwitch", 0, NAME_BYTES_MAX, &sig_switch);
    r->sig_at_end = str_is(sig_switch, "end");
    if (f->faults->count == before && !r->sig_at_end && !str_is(sig_switch, "now"))
        problem_add(f->faults, STR("SigSwitch"), "invalid", "must be now or end");
}

static enum change_result rotate(struct accounts *accounts, const struct json *body, size_t rules,
                                 struct problems *faults, struct secrets *s)
{
    struct fields f = accounts_fields(accounts, body, false, faults);
    struct rotation r = {.overlap_s = 86400};
    if (body)
        rotation_fields(&f, rules, &r);
    if (faults->count)
        return CHANGE_INVALID;
    bool room =
        secrets_rotate(s, accounts_new_secret(accounts, faults->arena),
                       env_wall_ms(accounts->options.env), r.overlap_s * 1000, r.sig_at_end);
    return room ? CHANGE_READY : CHANGE_SECRETS_LIVE;
}

enum change_result change_rotate_secret(struct accounts *accounts, struct str app_id,
                                        const struct json *body, struct problems *faults,
                                        struct change *ret_change)
{
    struct app *now = directory_app(accounts->options.directory, app_id);
    if (!now)
        return CHANGE_NOT_FOUND;
    struct app a;
    memcpy(&a, now, sizeof a);
    a.version++;
    enum change_result result = rotate(accounts, body, RULES_OF_APPS, faults, &a.secrets);
    if (result == CHANGE_READY)
        result = accounts_app_ready(accounts, &a, faults, ret_change);
    app_unref(now);
    return result;
}

enum change_result change_rotate_operations_secret(struct accounts *accounts, struct str partner_id,
                                                   const struct json *body, struct problems *faults,
                                                   struct change *ret_change)
{
    struct partner *now = directory_partner(accounts->options.directory, partner_id);
    if (!now)
        return CHANGE_NOT_FOUND;
    struct partner p;
    memcpy(&p, now, sizeof p);
    p.version++;
    enum change_result result =
        rotate(accounts, body, RULES_OF_MESSAGES, faults, &p.operations_secrets);
    if (result == CHANGE_READY) {
        struct partner *entry = partner_pack(&p);
        accounts_ready(accounts, ret_change, ACCOUNT_PARTNER, entry, entry->id);
    }
    partner_unref(now);
    return result;
}
