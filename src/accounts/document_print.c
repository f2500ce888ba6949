/* Prints documents; see document.h. Numbers come first, then the members that the API shows, then
 * those that only the service needs. */
#include "accounts/document.h"
#include "accounts/names.h"
#include "json/writer.h"

#include <sodium.h>

static void head(struct json_writer *w, struct buf *to, const char *no_name, uint32_t no,
                 uint64_t version)
{
    json_write_to(w, to);
    json_object(w);
    json_key_int(w, no_name, no);
    json_key_int(w, "Version", (int64_t)version);
}

static void sealed(struct json_writer *w, const char *name, const char *prefix, struct str secret,
                   const struct vault *vault, struct env *env)
{
    struct buf value = {0};
    buf_add_c(&value, prefix);
    vault_seal(vault, env, secret, &value);
    json_key_string_if(w, name, buf_str(&value));
    buf_free(&value);
}

static void secrets(struct json_writer *w, const char *name, const struct secrets *s,
                    const struct vault *vault, struct env *env)
{
    sealed(w, name, "", s->newest, vault, env);
    if (!s->older[0].text.p)
        return;
    json_key_array(w, "OlderSecrets");
    for (size_t i = 0; i < LIMIT_OLDER_SECRETS && s->older[i].text.p; i++) {
        json_object(w);
        sealed(w, "Secret", "", s->older[i].text, vault, env);
        json_key_int(w, "UntilMs", s->older[i].until_ms);
        json_end_object(w);
    }
    json_end_array(w);
    json_key_int(w, "SigOlder", s->sig_older);
}

/* A URL with an @ may contain a password (userinfo): it is sealed. */
static void url(struct json_writer *w, const char *name, struct str value,
                const struct vault *vault, struct env *env)
{
    if (value.p && memchr(value.p, '@', value.n))
        sealed(w, name, DOCUMENT_SEALED_URL, value, vault, env);
    else
        json_key_string_if(w, name, value);
}

void document_print_partner(struct buf *to, const struct partner *p, const struct vault *vault,
                            struct env *env)
{
    struct json_writer w;
    head(&w, to, "AccountNo", p->account_no, p->version);
    json_key_string_if(&w, "PartnerId", p->id);
    json_key_string_if(&w, "Name", p->name);
    json_key_bool(&w, "Enabled", p->enabled);
    url(&w, "OperationsUrl", p->operations_url, vault, env);
    if (p->operations_format)
        json_key_c(&w, "OperationsFormat", operations_format_name(p->operations_format));
    json_key_string_if(&w, "OperationsEmail", p->operations_email);
    if (p->cluster)
        json_key_int(&w, "Cluster", p->cluster);
    secrets(&w, "OperationsSecret", &p->operations_secrets, vault, env);
    json_end_object(&w);
}

static void print_final_statuses(struct json_writer *w, const struct final_statuses *s)
{
    json_key_array(w, "FinalStatuses");
    for (int32_t status = FINAL_STATUS_LEAST; status <= FINAL_STATUS_MOST; status++)
        if (final_statuses_have(s, status))
            json_int(w, status);
    json_end_array(w);
}

/* null: every 2xx is a success. */
static void print_success_answer(struct json_writer *w, const struct success_answer *s)
{
    json_key(w, "SuccessAnswer");
    if (s->rule == SUCCESS_ANY) {
        json_null(w);
        return;
    }
    json_object(w);
    if (s->rule == SUCCESS_FIELD)
        json_key_string(w, "Field", s->field);
    json_key_string(w, success_text_member(s->rule), s->text);
    json_end_object(w);
}

/* null where none is unwanted. */
static void print_reward_types(struct json_writer *w, uint32_t unwanted)
{
    json_key(w, "RewardTypes");
    if (!unwanted) {
        json_null(w);
        return;
    }
    json_array(w);
    for (int type = EVENT_SURVEY_STARTED; type <= EVENT_TYPE_LAST; type++)
        if (!(unwanted >> type & 1))
            json_c(w, event_type_name((enum event_type)type));
    json_end_array(w);
}

void document_print_app_choices(struct json_writer *w, const struct app *a)
{
    const struct app_terms *t = &a->terms;
    json_key_bool(w, "LegacyFields", t->legacy_fields);
    json_key_bool(w, "ExtendedFields", t->extended_fields);
    json_key_bool(w, "NegativeAdHoc", t->negative_ad_hoc);
    print_final_statuses(w, &a->final_statuses);
    print_success_answer(w, &a->success_answer);
    print_reward_types(w, t->unwanted_types);
    json_key_c(w, "RequestFormat", request_format_name(a->request_format));
    json_key_bool(w, "TrimDecimals", t->trim_decimals);
    json_key_bool(w, "NumericOfferGoalId", t->numeric_goal_ids);
    json_key_bool(w, "WithholdTests", t->withhold_tests);
}

void document_print_app(struct buf *to, const struct app *a, const struct vault *vault,
                        struct env *env)
{
    struct json_writer w;
    const struct app_terms *t = &a->terms;
    head(&w, to, "AppNo", a->app_no, a->version);
    json_key_int(&w, "AccountNo", t->account_no);
    json_key_string_if(&w, "AppId", a->id);
    json_key_string_if(&w, "PartnerId", a->partner_id);
    json_key_string_if(&w, "Name", a->name);
    json_key_bool(&w, "Enabled", a->enabled);
    json_key_int(&w, "EnabledSinceMs", a->enabled_since_ms);
    json_key_raw(&w, "CurrencyValue", a->currency_text);
    json_key_int(&w, "RewardDecimals", t->reward_decimals);
    json_key_money(&w, "DisqualificationReward", t->disqualification_reward_micros, 0);
    json_key_int(&w, "DisqualificationCap", t->disqualification_cap);
    for (int kind = LANE_SUCCESS; kind < LANE_KINDS; kind++)
        url(&w, lane_url_field((enum lane_kind)kind), a->url[kind], vault, env);
    json_key_array(&w, "DisabledLanes");
    for (int kind = LANE_SUCCESS; kind < LANE_KINDS; kind++)
        if (t->lane_disabled[kind])
            json_int(&w, kind);
    json_end_array(&w);
    json_key_array(&w, "LaneEnabledMs");
    for (int kind = LANE_SUCCESS; kind < LANE_KINDS; kind++)
        json_int(&w, a->lane_enabled_ms[kind]);
    json_end_array(&w);
    json_key_int(&w, "TimeoutMs", a->timeout_ms);
    json_key_int(&w, "MaxConcurrency", a->max_concurrency);
    json_key_int(&w, "RatePerSecond", a->rate_per_second);
    document_print_app_choices(&w, a);
    secrets(&w, "Secret", &a->secrets, vault, env);
    if (a->certificate.pem.p) {
        json_key_string(&w, "ClientCertificate", a->certificate.pem);
        sealed(&w, "ClientKey", "", a->certificate.key, vault, env);
    }
    json_end_object(&w);
}

void document_print_client(struct buf *to, const struct client *c)
{
    struct json_writer w;
    head(&w, to, "ClientNo", c->client_no, c->version);
    json_key_int(&w, "AccountNo", c->account_no);
    json_key_int(&w, "AppNo", c->app_no);
    json_key_string_if(&w, "ClientId", c->id);
    json_key_string_if(&w, "AppId", c->app_id);
    json_key_string_if(&w, "Name", c->name);
    json_key_string_if(&w, "Integration", str_of(integration_name(c->integration)));
    json_key_bool(&w, "Enabled", c->enabled);
    json_end_object(&w);
}

void document_print_key(struct buf *to, const struct api_key *k)
{
    char hex[2 * sizeof k->hash + 1];
    sodium_bin2hex(hex, sizeof hex, k->hash, sizeof k->hash);
    struct json_writer w;
    head(&w, to, "KeyNo", k->key_no, k->version);
    json_key_int(&w, "AccountNo", k->account_no);
    json_key_string_if(&w, "KeyId", k->id);
    json_key_string_if(&w, "Name", k->name);
    json_key_int(&w, "Scopes", k->scopes);
    json_key_int(&w, "ExpiresMs", k->expires_ms);
    json_key_int(&w, "UsedMs", k->stored_used_ms);
    json_key_string_if(&w, "Sha256", str_of(hex));
    json_key_string_if(&w, "Person", k->person);
    json_key_bool(&w, "ByOperator", k->by_operator);
    json_end_object(&w);
}
