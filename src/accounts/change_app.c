/* Creates and patches apps, and disables their lanes. */
#include "accounts/accounts_state.h"
#include "accounts/client_certificate.h"
#include "accounts/entry.h"
#include "accounts/names.h"
#include "domain/money.h"

#include <sodium.h>

#define CERTIFICATE_BYTES_MAX 32768

static const struct field_rule app_rules[] = {
    {"AppId", true, false},
    {"Name", true, true},
    {"Enabled", true, true},
    {"CurrencyValue", true, true},
    {"RewardDecimals", true, true},
    {"DisqualificationReward", true, true},
    {"DisqualificationCap", true, true},
    {"SuccessCallbackUrl", true, true},
    {"FailureCallbackUrl", true, true},
    {"OfferCallbackUrl", true, true},
    {"TestCallbackUrl", true, true},
    {"TimeoutSeconds", true, true},
    {"MaxConcurrency", true, true},
    {"RatePerSecond", true, true},
    {"LegacyFields", true, true},
    {"ExtendedFields", true, true},
    {"NegativeAdHoc", true, true},
    {"FinalStatuses", true, true},
    {"SuccessAnswer", true, true},
    {"RewardTypes", true, true},
    {"RequestFormat", true, true},
    {"TrimDecimals", true, true},
    {"NumericOfferGoalId", true, true},
    {"WithholdTests", true, true},
    {"ClientCertificate", true, true},
    {"CallbackSecret", true, false},
};

static void enable_lane(struct app *a, enum lane_kind kind, int64_t now_ms)
{
    if (!a->terms.lane_disabled[kind])
        return;
    a->terms.lane_disabled[kind] = false;
    a->lane_enabled_ms[kind] = now_ms;
}

static void app_urls(const struct fields *f, int64_t now_ms, struct app *a)
{
    for (int kind = LANE_SUCCESS; kind < LANE_KINDS; kind++) {
        const char *name = lane_url_field((enum lane_kind)kind);
        fields_callback_url(f, name, &a->url[kind]);
        /* Setting a URL, even to the same value, enables a lane that 410s have disabled. */
        if (fields_given(f, name))
            enable_lane(a, (enum lane_kind)kind, now_ms);
    }
}

static const struct field_rule certificate_rules[] = {
    {"Certificate", true, true},
    {"PrivateKey", true, true},
};

/* Both or, with null, neither: what was set before is replaced as a whole. */
static void app_certificate(const struct fields *f, int64_t now_ms, struct app *a)
{
    const struct json *given = json_member(f->body, "ClientCertificate");
    struct client_certificate made = {0};
    struct str pem = STR_NONE, key = STR_NONE;
    const char *why = NULL;
    bool key_fault = false;
    if (!given)
        return;
    if (given->type != JSON_NULL) {
        struct fields own = *f;
        size_t before = f->faults->count;
        own.body = given;
        if (given->type != JSON_OBJECT) {
            problem_add(f->faults, STR("ClientCertificate"), "invalid",
                        "must be an object with Certificate and PrivateKey, or null");
            return;
        }
        if (!fields_check(&own, certificate_rules, ARRAY_LEN(certificate_rules)))
            return;
        fields_text(&own, "Certificate", 1, CERTIFICATE_BYTES_MAX, &pem);
        fields_text(&own, "PrivateKey", 1, CERTIFICATE_BYTES_MAX, &key);
        fields_required(&own, "Certificate");
        fields_required(&own, "PrivateKey");
        if (f->faults->count > before)
            return;
        if (!client_certificate_read(f->faults->arena, pem, &made, &why) ||
            !client_certificate_fits(f->faults->arena, pem, key, now_ms, &key_fault, &why)) {
            problem_add(f->faults, str_of(key_fault ? "PrivateKey" : "Certificate"), "invalid",
                        "%s", why);
            return;
        }
        made.key = key;
    }
    a->certificate = made;
}

static void app_fields(const struct fields *f, int64_t now_ms, struct app *a)
{
    struct app_terms *t = &a->terms;
    int64_t decimals = t->reward_decimals, cap = t->disqualification_cap;
    int64_t timeout_s = a->timeout_ms / 1000, concurrency = a->max_concurrency;
    int64_t rate = a->rate_per_second;
    fields_text(f, "Name", 1, NAME_BYTES_MAX, &a->name);
    fields_bool(f, "Enabled", &a->enabled);
    fields_money(f, "CurrencyValue", 1, MONEY_MAX_CURRENCY_MICROS, &t->currency_micros,
                 &a->currency_text);
    fields_int(f, "RewardDecimals", 0, 6, &decimals);
    fields_money(f, "DisqualificationReward", 0, MONEY_MAX_REWARD_MICROS,
                 &t->disqualification_reward_micros, NULL);
    fields_int(f, "DisqualificationCap", 0, 1000, &cap);
    app_urls(f, now_ms, a);
    fields_int(f, "TimeoutSeconds", 3, 30, &timeout_s);
    fields_int(f, "MaxConcurrency", 1, 256, &concurrency);
    fields_int_or_null(f, "RatePerSecond", 0, 10000, &rate);
    fields_bool(f, "LegacyFields", &t->legacy_fields);
    fields_bool(f, "ExtendedFields", &t->extended_fields);
    fields_bool(f, "NegativeAdHoc", &t->negative_ad_hoc);
    fields_final_statuses(f, "FinalStatuses", &a->final_statuses);
    fields_success_answer(f, "SuccessAnswer", &a->success_answer);
    fields_reward_types(f, "RewardTypes", &t->unwanted_types);
    fields_request_format(f, "RequestFormat", &a->request_format);
    fields_bool(f, "TrimDecimals", &t->trim_decimals);
    fields_bool(f, "NumericOfferGoalId", &t->numeric_goal_ids);
    fields_bool(f, "WithholdTests", &t->withhold_tests);
    t->reward_decimals = (uint8_t)decimals;
    t->disqualification_cap = (uint32_t)cap;
    a->timeout_ms = (int32_t)timeout_s * 1000;
    a->max_concurrency = (int32_t)concurrency;
    a->rate_per_second = (int32_t)rate;
}

enum change_result accounts_app_ready(struct accounts *accounts, const struct app *from,
                                      struct problems *faults, struct change *ret_change)
{
    struct app *entry = NULL;
    const char *why = NULL;
    /* Every URL was accepted before; if a rule has become stricter since, that is a fault, too. */
    if (!app_pack(from, &entry, &why)) {
        if (faults)
            problem_add(faults, STR("SuccessCallbackUrl"), "invalid",
                        "one of the callback URLs is no longer accepted: %s", why);
        return CHANGE_INVALID;
    }
    accounts_ready(accounts, ret_change, ACCOUNT_APP, entry, entry->id);
    return CHANGE_READY;
}

enum change_result change_create_app(struct accounts *accounts, struct str partner_id,
                                     bool by_partner, const struct json *body,
                                     struct problems *faults, struct change *ret_change)
{
    struct fields f = accounts_fields(accounts, body, false, faults);
    f.by_partner = by_partner;
    struct partner *partner = directory_partner(accounts->options.directory, partner_id);
    if (!partner)
        return CHANGE_NOT_FOUND;
    struct app a = {
        .version = 1,
        .enabled = true,
        .partner_id = partner->id,
        .terms = {.account_no = partner->account_no,
                  .reward_decimals = 2,
                  .disqualification_cap = 6},
        .timeout_ms = 10000,
        .max_concurrency = 32,
    };
    if (fields_check(&f, app_rules, ARRAY_LEN(app_rules))) {
        if (accounts_new_id(accounts, &f, ACCOUNT_APP, "AppId", "a_", &a.id))
            a.name = a.id;
        fields_required(&f, "CurrencyValue");
        app_fields(&f, env_wall_ms(accounts->options.env), &a);
        app_certificate(&f, env_wall_ms(accounts->options.env), &a);
        fields_callback_secret(&f, "CallbackSecret", &a.secrets.newest);
    }
    enum change_result result = CHANGE_READY;
    if (faults->count) {
        result = accounts_refusal(faults);
    } else if (!accounts_have_room(accounts, ACCOUNT_APP, partner->account_no, faults)) {
        result = CHANGE_TOO_MANY;
    } else {
        if (!a.secrets.newest.p)
            a.secrets.newest = accounts_new_secret(accounts, faults->arena);
        a.app_no = directory_next_no(accounts->options.directory, ACCOUNT_APP);
        a.terms.app_no = a.app_no;
        result = accounts_app_ready(accounts, &a, faults, ret_change);
    }
    partner_unref(partner);
    return result;
}

enum change_result change_patch_app(struct accounts *accounts, struct str app_id,
                                    struct str if_match, const struct json *body,
                                    struct problems *faults, struct change *ret_change)
{
    struct fields f = accounts_fields(accounts, body, true, faults);
    struct app *now = directory_app(accounts->options.directory, app_id);
    enum change_result result = CHANGE_NOT_FOUND;
    if (!now)
        return result;
    struct app a;
    memcpy(&a, now, sizeof a);
    if (fields_check(&f, app_rules, ARRAY_LEN(app_rules))) {
        app_fields(&f, env_wall_ms(accounts->options.env), &a);
        app_certificate(&f, env_wall_ms(accounts->options.env), &a);
    }
    a.version++;
    if (a.enabled && !now->enabled)
        a.enabled_since_ms = env_wall_ms(accounts->options.env);
    result = accounts_judge_patch(faults, if_match, now->version);
    if (result == CHANGE_READY)
        result = accounts_app_ready(accounts, &a, faults, ret_change);
    app_unref(now);
    return result;
}

enum change_result change_disable_lane(struct accounts *accounts, uint32_t app_no,
                                       enum lane_kind kind, struct str url,
                                       struct change *ret_change)
{
    CHECK_MAGIC(accounts, ACCOUNTS_MAGIC);
    ASSERT(kind > LANE_NONE && kind < LANE_KINDS);
    struct app *now = directory_app_by_no(accounts->options.directory, app_no);
    if (!now)
        return CHANGE_NOT_FOUND;
    enum change_result result = CHANGE_STALE;
    if (str_eq(now->url[kind], url) && !now->terms.lane_disabled[kind]) {
        struct app a;
        memcpy(&a, now, sizeof a);
        /* No field that the API shows changes, so neither does the version. */
        a.terms.lane_disabled[kind] = true;
        result = accounts_app_ready(accounts, &a, NULL, ret_change);
    }
    app_unref(now);
    return result;
}

enum change_result change_enable_lane(struct accounts *accounts, struct str app_id,
                                      enum lane_kind kind, struct change *ret_change)
{
    CHECK_MAGIC(accounts, ACCOUNTS_MAGIC);
    ASSERT(kind > LANE_NONE && kind < LANE_KINDS);
    struct app *now = directory_app(accounts->options.directory, app_id);
    if (!now)
        return CHANGE_NOT_FOUND;
    struct app a;
    memcpy(&a, now, sizeof a);
    a.version++; /* so that delivery looks at the app again */
    enable_lane(&a, kind, env_wall_ms(accounts->options.env));
    enum change_result result = accounts_app_ready(accounts, &a, NULL, ret_change);
    app_unref(now);
    return result;
}
