/* Rotates the secrets of apps and of operations messages to partners. */
#include "accounts/accounts_state.h"
#include "accounts/entry.h"

#define OVERLAP_SECONDS_MAX (30 * 86400)

/* An app's callbacks carry Sig, a partner's messages do not. */
static const struct field_rule rotation_rules[] = {
    {"OverlapSeconds", true, false},
    {"SigSwitch", true, false},
    {"CallbackSecret", true, false},
};
#define RULES_OF_APPS ARRAY_LEN(rotation_rules)
#define RULES_OF_MESSAGES 1

struct rotation {
    int64_t overlap_s;
    bool sig_at_end;
    struct str secret; /* absent: one is made */
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
    fields_callback_secret(f, "CallbackSecret", &r->secret);
}

static bool is_live(const struct secrets *s, struct str secret, int64_t now_ms)
{
    struct str live[LIVE_SECRETS_MOST];
    size_t count = secrets_live(s, now_ms, live);
    for (size_t i = 0; i < count; i++)
        if (str_eq(live[i], secret))
            return true;
    return false;
}

static enum change_result rotate(struct accounts *accounts, const struct fields *f, size_t rules,
                                 struct secrets *s)
{
    struct rotation r = {.overlap_s = 86400};
    const int64_t now_ms = env_wall_ms(accounts->options.env);
    if (f->body)
        rotation_fields(f, rules, &r);
    if (r.secret.p && is_live(s, r.secret, now_ms))
        problem_add(f->faults, STR("CallbackSecret"), "invalid", "this secret is valid already");
    if (f->faults->count)
        return CHANGE_INVALID;
    if (!r.secret.p)
        r.secret = accounts_new_secret(accounts, f->faults->arena);
    bool room = secrets_rotate(s, r.secret, now_ms, r.overlap_s * 1000, r.sig_at_end);
    return room ? CHANGE_READY : CHANGE_SECRETS_LIVE;
}

enum change_result change_rotate_secret(struct accounts *accounts, struct str app_id,
                                        bool by_partner, const struct json *body,
                                        struct problems *faults, struct change *ret_change)
{
    struct fields f = accounts_fields(accounts, body, false, faults);
    f.by_partner = by_partner;
    struct app *now = directory_app(accounts->options.directory, app_id);
    if (!now)
        return CHANGE_NOT_FOUND;
    struct app a;
    memcpy(&a, now, sizeof a);
    a.version++;
    enum change_result result = rotate(accounts, &f, RULES_OF_APPS, &a.secrets);
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
    struct fields f = accounts_fields(accounts, body, false, faults);
    enum change_result result = rotate(accounts, &f, RULES_OF_MESSAGES, &p.operations_secrets);
    if (result == CHANGE_READY) {
        struct partner *entry = partner_pack(&p);
        accounts_ready(accounts, ret_change, ACCOUNT_PARTNER, entry, entry->id);
    }
    partner_unref(now);
    return result;
}
