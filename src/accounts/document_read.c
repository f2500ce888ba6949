/* Reads documents; see document.h. An operator may have edited a document, or it may be encrypted
 * with another master key. So every member is checked, and the error names the member that is
 * wrong. */
#include "accounts/client_certificate.h"
#include "accounts/document.h"
#include "accounts/document_reader.h"
#include "accounts/entry.h"
#include "accounts/names.h"
#include "base/buf.h"
#include "json/values.h"

#include <sodium.h>

static bool open_sealed(struct document_reader *r, struct str sealed, struct str *ret_secret)
{
    return vault_open(r->vault, r->arena, sealed, ret_secret, &r->under_second);
}

/* Reads a URL as document_print wrote it: with userinfo it is sealed. */
static struct str url_or_none(struct document_reader *r, const char *name)
{
    struct str s = STR_NONE, opened = STR_NONE;
    fields_text(&r->fields, name, 0, SIZE_MAX, &s);
    if (!str_has_prefix(s, DOCUMENT_SEALED_URL))
        return s;
    const size_t n = strlen(DOCUMENT_SEALED_URL);
    if (!open_sealed(r, (struct str){s.p + n, s.n - n}, &opened))
        document_cannot_open(r, name);
    return opened;
}

static struct str money(struct document_reader *r, const char *name, int64_t *ret_micros)
{
    struct str given = STR_NONE;
    fields_required(&r->fields, name);
    fields_money(&r->fields, name, INT64_MIN, INT64_MAX, ret_micros, &given);
    return given;
}

static bool read_older_secret(struct document_reader *r, const struct json *from,
                              struct older_secret *ret)
{
    struct fields own = r->fields;
    own.body = from;
    fields_required(&own, "UntilMs");
    fields_int(&own, "UntilMs", 0, INT64_MAX, &ret->until_ms);
    return open_sealed(r, json_member_text(from, "Secret"), &ret->text);
}

/* False: one of them cannot be opened. */
static bool read_secrets(struct document_reader *r, const char *name, struct secrets *ret)
{
    if (!open_sealed(r, document_text(r, name), &ret->newest))
        return false;
    const struct json *older = json_member(r->fields.body, "OlderSecrets");
    if (!older)
        return true;
    size_t count = 0;
    for (const struct json *one = older->first; one; one = one->next) {
        if (count == LIMIT_OLDER_SECRETS)
            document_wrong(r, "OlderSecrets");
        else if (!read_older_secret(r, one, &ret->older[count++]))
            return false;
    }
    ret->sig_older = (uint8_t)document_number(r, "SigOlder", 0, (int64_t)count);
    return true;
}

static void wipe_secrets(struct secrets *s)
{
    sodium_memzero((void *)s->newest.p, s->newest.n);
    for (size_t i = 0; i < LIMIT_OLDER_SECRETS; i++)
        sodium_memzero((void *)s->older[i].text.p, s->older[i].text.n);
}

bool document_read_partner(struct arena *arena, const struct json *document,
                           const struct vault *vault, struct partner **ret, struct str *ret_why)
{
    struct document_reader r;
    document_read_begin(&r, arena, document, vault);
    struct partner p = {
        .account_no = (uint32_t)document_number(&r, "AccountNo", 1, DOCUMENT_NUMBER_MAX),
        .version = (uint64_t)document_number(&r, "Version", 1, INT64_MAX),
        .id = document_id(&r, "PartnerId"),
        .name = document_text(&r, "Name"),
        .enabled = document_flag(&r, "Enabled"),
        .operations_url = url_or_none(&r, "OperationsUrl"),
    };
    fields_operations_format(&r.fields, "OperationsFormat", &p.operations_format);
    fields_text(&r.fields, "OperationsEmail", 0, SIZE_MAX, &p.operations_email);
    if (json_member(document, "Cluster"))
        p.cluster = (uint32_t)document_number(&r, "Cluster", 1, DOCUMENT_NUMBER_MAX);
    if (!read_secrets(&r, "OperationsSecret", &p.operations_secrets))
        document_cannot_open(&r, "OperationsSecret");
    p.under_second_key = r.under_second;
    bool good = document_read_end(&r, "partner", p.id, ret_why);
    if (good)
        *ret = partner_pack(&p);
    wipe_secrets(&p.operations_secrets);
    return good;
}

static void read_disabled_lanes(struct document_reader *r, struct app_terms *t)
{
    const struct json *lanes = json_member(r->fields.body, "DisabledLanes");
    if (!lanes || lanes->type != JSON_ARRAY) {
        document_wrong(r, "DisabledLanes");
        return;
    }
    for (const struct json *v = lanes->first; v; v = v->next) {
        int64_t kind = LANE_NONE;
        if (!value_whole_number(v, &kind) || kind <= LANE_NONE || kind >= LANE_KINDS)
            document_wrong(r, "DisabledLanes");
        else
            t->lane_disabled[kind] = true;
    }
}

static void read_lane_enabled(struct document_reader *r, struct app *a)
{
    const struct json *times = json_member(r->fields.body, "LaneEnabledMs");
    const struct json *v = times && times->type == JSON_ARRAY ? times->first : NULL;
    int kind = LANE_SUCCESS;
    while (v && kind < LANE_KINDS && value_whole_number(v, &a->lane_enabled_ms[kind])) {
        v = v->next;
        kind++;
    }
    if (v || kind < LANE_KINDS)
        document_wrong(r, "LaneEnabledMs");
}

static void read_app_terms(struct document_reader *r, struct app *a)
{
    struct app_terms *t = &a->terms;
    t->account_no = (uint32_t)document_number(r, "AccountNo", 1, DOCUMENT_NUMBER_MAX);
    t->app_no = a->app_no;
    a->currency_text = money(r, "CurrencyValue", &t->currency_micros);
    money(r, "DisqualificationReward", &t->disqualification_reward_micros);
    t->disqualification_cap = (uint32_t)document_number(r, "DisqualificationCap", 0, UINT32_MAX);
    t->reward_decimals = (uint8_t)document_number(r, "RewardDecimals", 0, 6);
    t->legacy_fields = document_flag(r, "LegacyFields");
    t->extended_fields = document_flag(r, "ExtendedFields");
    t->negative_ad_hoc = document_flag(r, "NegativeAdHoc");
    /* Absent in documents of versions that did not have these settings. */
    fields_bool(&r->fields, "TrimDecimals", &t->trim_decimals);
    fields_bool(&r->fields, "NumericOfferGoalId", &t->numeric_goal_ids);
    fields_bool(&r->fields, "WithholdTests", &t->withhold_tests);
    fields_reward_types(&r->fields, "RewardTypes", &t->unwanted_types);
    fields_request_format(&r->fields, "RequestFormat", &a->request_format);
    fields_success_answer(&r->fields, "SuccessAnswer", &a->success_answer);
    read_disabled_lanes(r, t);
    read_lane_enabled(r, a);
}

static bool read_app_certificate(struct document_reader *r, struct app *a)
{
    struct str pem = STR_NONE;
    const char *why;
    fields_text(&r->fields, "ClientCertificate", 0, SIZE_MAX, &pem);
    if (!pem.p)
        return true;
    if (!client_certificate_read(r->arena, pem, &a->certificate, &why))
        document_wrong(r, "ClientCertificate");
    return open_sealed(r, document_text(r, "ClientKey"), &a->certificate.key);
}

bool document_read_app(struct arena *arena, const struct json *document, const struct vault *vault,
                       struct app **ret, struct str *ret_why)
{
    struct document_reader r;
    document_read_begin(&r, arena, document, vault);
    struct app a = {
        .app_no = (uint32_t)document_number(&r, "AppNo", 1, DOCUMENT_NUMBER_MAX),
        .version = (uint64_t)document_number(&r, "Version", 1, INT64_MAX),
        .id = document_id(&r, "AppId"),
        .partner_id = document_id(&r, "PartnerId"),
        .name = document_text(&r, "Name"),
        .enabled = document_flag(&r, "Enabled"),
        .enabled_since_ms = document_number(&r, "EnabledSinceMs", 0, INT64_MAX),
        .timeout_ms = (int32_t)document_number(&r, "TimeoutMs", 1, INT32_MAX),
        .max_concurrency = (int32_t)document_number(&r, "MaxConcurrency", 1, INT32_MAX),
        .rate_per_second = (int32_t)document_number(&r, "RatePerSecond", 0, INT32_MAX),
    };
    read_app_terms(&r, &a);
    fields_required(&r.fields, "FinalStatuses");
    fields_final_statuses(&r.fields, "FinalStatuses", &a.final_statuses);
    bool opened = read_secrets(&r, "Secret", &a.secrets) && read_app_certificate(&r, &a);
    for (int kind = LANE_SUCCESS; opened && kind < LANE_KINDS; kind++)
        a.url[kind] = url_or_none(&r, lane_url_field((enum lane_kind)kind));
    bool good = document_read_end(&r, "app", a.id, ret_why);
    if (good) {
        a.under_second_key = r.under_second;
        const char *why = "its Callback Secret cannot be opened: the master key is another one, or "
                          "the document is damaged";
        good = opened && app_pack(&a, ret, &why);
        if (!good)
            *ret_why = arena_print(arena, "the document of app %.*s: %s", STR_ARG(a.id), why);
    }
    wipe_secrets(&a.secrets);
    sodium_memzero((void *)a.certificate.key.p, a.certificate.key.n);
    return good;
}

bool document_read_client(struct arena *arena, const struct json *document, struct client **ret,
                          struct str *ret_why)
{
    struct document_reader r;
    document_read_begin(&r, arena, document, NULL);
    struct client c = {
        .client_no = (uint32_t)document_number(&r, "ClientNo", 1, DOCUMENT_NUMBER_MAX),
        .version = (uint64_t)document_number(&r, "Version", 1, INT64_MAX),
        .account_no = (uint32_t)document_number(&r, "AccountNo", 1, DOCUMENT_NUMBER_MAX),
        .app_no = (uint32_t)document_number(&r, "AppNo", 1, DOCUMENT_NUMBER_MAX),
        .id = document_id(&r, "ClientId"),
        .app_id = document_id(&r, "AppId"),
        .name = document_text(&r, "Name"),
        .enabled = document_flag(&r, "Enabled"),
    };
    if (!integration_parse(document_text(&r, "Integration"), &c.integration))
        document_wrong(&r, "Integration");
    if (!document_read_end(&r, "client", c.id, ret_why))
        return false;
    *ret = client_pack(&c);
    return true;
}

bool document_read_key(struct arena *arena, const struct json *document, struct api_key **ret,
                       struct str *ret_why)
{
    struct document_reader r;
    document_read_begin(&r, arena, document, NULL);
    struct api_key k = {
        .key_no = (uint32_t)document_number(&r, "KeyNo", 1, DOCUMENT_NUMBER_MAX),
        .version = (uint64_t)document_number(&r, "Version", 1, INT64_MAX),
        .account_no = (uint32_t)document_number(&r, "AccountNo", 0, DOCUMENT_NUMBER_MAX),
        .scopes = (uint32_t)document_number(&r, "Scopes", 0, SCOPES_ALL),
        .expires_ms = document_number(&r, "ExpiresMs", 0, INT64_MAX),
        .stored_used_ms = document_number(&r, "UsedMs", 0, INT64_MAX),
        .id = document_id(&r, "KeyId"),
        .name = document_text(&r, "Name"),
        .by_operator = document_flag(&r, "ByOperator"),
    };
    fields_text(&r.fields, "Person", 0, SIZE_MAX, &k.person);
    struct str hex = document_text(&r, "Sha256");
    size_t n = 0;
    if (!hex.p || sodium_hex2bin(k.hash, sizeof k.hash, hex.p, hex.n, NULL, &n, NULL) != 0 ||
        n != sizeof k.hash)
        document_wrong(&r, "Sha256");
    if (!document_read_end(&r, "key", k.id, ret_why))
        return false;
    atomic_init(&k.used_ms, k.stored_used_ms);
    *ret = api_key_pack(&k);
    return true;
}
