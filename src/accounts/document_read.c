/* Documents to entries; see document.h. A document is the store's own, but it may have been edited
 * by hand or sealed under another master key, so every member is checked and named when wrong. */
#include "accounts/client_certificate.h"
#include "accounts/document.h"
#include "accounts/entry.h"
#include "accounts/names.h"
#include "base/buf.h"
#include "domain/money.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>

/* Tables are as long as the highest number: one from a document edited by hand must not make them
 * fill the memory. */
#define NUMBER_MAX 100000000

/* A document being read; the first member that is missing or wrong is kept. */
struct document_reader {
    struct arena *arena;
    const struct json *document;
    const struct vault *vault; /* NULL: nothing sealed stands in it */
    bool under_second;         /* the vault's second key has opened something */
    const char *wrong;
    bool is_sealed; /* and the vault has not opened it */
};

static void wrong(struct document_reader *r, const char *name)
{
    if (!r->wrong)
        r->wrong = name;
}

static void cannot_be_opened(struct document_reader *r, const char *name)
{
    r->is_sealed |= !r->wrong;
    wrong(r, name);
}

static struct str text_or_none(struct document_reader *r, const char *name)
{
    const struct json *v = json_member(r->document, name);
    if (v && v->type != JSON_STRING)
        wrong(r, name);
    return v && v->type == JSON_STRING ? v->text : STR_NONE;
}

static struct str text(struct document_reader *r, const char *name)
{
    struct str s = text_or_none(r, name);
    if (!s.p)
        wrong(r, name);
    return s;
}

static bool open_sealed(struct document_reader *r, struct str sealed, struct str *ret_secret)
{
    return vault_open(r->vault, r->arena, sealed, ret_secret, &r->under_second);
}

/* As document_print wrote it: with userinfo it is sealed. */
static struct str url_or_none(struct document_reader *r, const char *name)
{
    struct str s = text_or_none(r, name), opened = STR_NONE;
    if (!str_has_prefix(s, DOCUMENT_SEALED_URL))
        return s;
    const size_t n = strlen(DOCUMENT_SEALED_URL);
    if (!open_sealed(r, (struct str){s.p + n, s.n - n}, &opened))
        cannot_be_opened(r, name);
    return opened;
}

static struct str id(struct document_reader *r, const char *name)
{
    struct str s = text(r, name);
    if (!account_id_valid(s))
        wrong(r, name);
    return s;
}

static int64_t whole(struct document_reader *r, const struct json *v, const char *name)
{
    char digits[24] = "";
    if (v && v->type == JSON_NUMBER && v->text.n < sizeof digits)
        memcpy(digits, v->text.p, v->text.n);
    char *end = digits;
    errno = 0;
    int64_t n = strtoll(digits, &end, 10);
    if (end == digits || *end != '\0' || errno) {
        wrong(r, name);
        return 0;
    }
    return n;
}

static int64_t number(struct document_reader *r, const char *name, int64_t least, int64_t most)
{
    int64_t n = whole(r, json_member(r->document, name), name);
    if (n >= least && n <= most)
        return n;
    wrong(r, name);
    return least;
}

static bool flag(struct document_reader *r, const char *name)
{
    const struct json *v = json_member(r->document, name);
    if (!v || (v->type != JSON_TRUE && v->type != JSON_FALSE)) {
        wrong(r, name);
        return false;
    }
    return v->type == JSON_TRUE;
}

static struct str money(struct document_reader *r, const char *name, int64_t *ret_micros)
{
    const struct json *v = json_member(r->document, name);
    if (!v || v->type != JSON_NUMBER || money_parse(v->text, ret_micros) != MONEY_OK) {
        wrong(r, name);
        return STR_NONE;
    }
    return v->text;
}

static bool read_older_secret(struct document_reader *r, const struct json *from,
                              struct older_secret *ret)
{
    ret->until_ms = whole(r, json_member(from, "UntilMs"), "OlderSecrets");
    return open_sealed(r, json_member_text(from, "Secret"), &ret->text);
}

/* False: one of them cannot be opened. */
static bool read_secrets(struct document_reader *r, const char *name, struct secrets *ret)
{
    if (!open_sealed(r, text(r, name), &ret->newest))
        return false;
    const struct json *older = json_member(r->document, "OlderSecrets");
    if (!older)
        return true;
    size_t count = 0;
    for (const struct json *one = older->first; one; one = one->next) {
        if (count == LIMIT_OLDER_SECRETS)
            wrong(r, "OlderSecrets");
        else if (!read_older_secret(r, one, &ret->older[count++]))
            return false;
    }
    ret->sig_older = (uint8_t)number(r, "SigOlder", 0, (int64_t)count);
    return true;
}

static void wipe_secrets(struct secrets *s)
{
    sodium_memzero((void *)s->newest.p, s->newest.n);
    for (size_t i = 0; i < LIMIT_OLDER_SECRETS; i++)
        sodium_memzero((void *)s->older[i].text.p, s->older[i].text.n);
}

/* Whether all was well; *ret_why names the member else. */
static bool done(const struct document_reader *r, const char *kind, struct str name,
                 struct str *ret_why)
{
    if (!r->wrong)
        return true;
    struct buf why = {0};
    buf_printf(&why, "the document of %s %.*s: %s %s", kind, STR_ARG(name), r->wrong,
               r->is_sealed ? "cannot be opened: the master key is another one, or it is damaged"
                            : "is missing or wrong");
    *ret_why = arena_str(r->arena, buf_str(&why));
    buf_free(&why);
    return false;
}

bool document_read_partner(struct arena *arena, const struct json *document,
                           const struct vault *vault, struct partner **ret, struct str *ret_why)
{
    struct document_reader r = {.arena = arena, .document = document, .vault = vault};
    struct partner p = {
        .account_no = (uint32_t)number(&r, "AccountNo", 1, NUMBER_MAX),
        .version = (uint64_t)number(&r, "Version", 1, INT64_MAX),
        .id = id(&r, "PartnerId"),
        .name = text(&r, "Name"),
        .enabled = flag(&r, "Enabled"),
        .operations_url = url_or_none(&r, "OperationsUrl"),
    };
    if (json_member(document, "OperationsEmail"))
        p.operations_email = text(&r, "OperationsEmail");
    if (json_member(document, "Cluster"))
        p.cluster = (uint32_t)number(&r, "Cluster", 1, NUMBER_MAX);
    if (!read_secrets(&r, "OperationsSecret", &p.operations_secrets))
        cannot_be_opened(&r, "OperationsSecret");
    p.under_second_key = r.under_second;
    bool good = done(&r, "partner", p.id, ret_why);
    if (good)
        *ret = partner_pack(&p);
    wipe_secrets(&p.operations_secrets);
    return good;
}

static void read_disabled_lanes(struct document_reader *r, struct app_terms *t)
{
    const struct json *lanes = json_member(r->document, "DisabledLanes");
    if (!lanes || lanes->type != JSON_ARRAY) {
        wrong(r, "DisabledLanes");
        return;
    }
    for (const struct json *v = lanes->first; v; v = v->next) {
        int64_t kind = whole(r, v, "DisabledLanes");
        if (kind <= LANE_NONE || kind >= LANE_KINDS)
            wrong(r, "DisabledLanes");
        else
            t->lane_disabled[kind] = true;
    }
}

static void read_lane_enabled(struct document_reader *r, struct app *a)
{
    const struct json *times = json_member(r->document, "LaneEnabledMs");
    const struct json *v = times && times->type == JSON_ARRAY ? times->first : NULL;
    int kind = LANE_SUCCESS;
    for (; v && kind < LANE_KINDS; v = v->next)
        a->lane_enabled_ms[kind++] = whole(r, v, "LaneEnabledMs");
    if (v || kind < LANE_KINDS)
        wrong(r, "LaneEnabledMs");
}

static void read_final_statuses(struct document_reader *r, struct final_statuses *ret)
{
    const struct json *list = json_member(r->document, "FinalStatuses");
    if (!list || list->type != JSON_ARRAY) {
        wrong(r, "FinalStatuses");
        return;
    }
    for (const struct json *v = list->first; v; v = v->next) {
        int64_t status = whole(r, v, "FinalStatuses");
        if (status < FINAL_STATUS_LEAST || status > FINAL_STATUS_MOST)
            wrong(r, "FinalStatuses");
        else
            final_statuses_add(ret, (int32_t)status);
    }
}

/* Absent in stores that were written before there was such a setting: every 2xx is a success. */
static void read_success_answer(struct document_reader *r, struct success_answer *ret)
{
    const struct json *setting = json_member(r->document, "SuccessAnswer");
    if (!setting || setting->type == JSON_NULL)
        return;
    for (int rule = SUCCESS_BODY; rule <= SUCCESS_FIELD && !ret->text.p; rule++) {
        ret->rule = (enum success_rule)rule;
        ret->text = json_member_text(setting, success_text_member(ret->rule));
    }
    ret->field = json_member_text(setting, "Field");
    if (!ret->text.p || (ret->rule == SUCCESS_FIELD) != (ret->field.p && ret->field.n > 0))
        wrong(r, "SuccessAnswer");
}

/* Absent in stores that were written before there was such a choice: JSON. */
static enum request_format read_request_format(struct document_reader *r)
{
    enum request_format format = REQUEST_JSON;
    if (json_member(r->document, "RequestFormat") &&
        !request_format_parse(text(r, "RequestFormat"), &format))
        wrong(r, "RequestFormat");
    return format;
}

/* Absent in stores that were written before there was such a choice: all are wanted. */
static uint32_t read_unwanted_types(struct document_reader *r)
{
    const struct json *list = json_member(r->document, "RewardTypes");
    uint32_t wanted = 0;
    if (!list || list->type == JSON_NULL)
        return 0;
    if (list->type != JSON_ARRAY) {
        wrong(r, "RewardTypes");
        return 0;
    }
    for (const struct json *v = list->first; v; v = v->next) {
        enum event_type type = EVENT_SURVEY_STARTED;
        if (v->type != JSON_STRING || !event_type_parse(v->text, &type))
            wrong(r, "RewardTypes");
        wanted |= UINT32_C(1) << type;
    }
    return ~wanted;
}

/* Absent in stores that were written before there was such a switch: off. */
static bool newer_flag(struct document_reader *r, const char *name)
{
    return json_member(r->document, name) && flag(r, name);
}

static void read_app_terms(struct document_reader *r, struct app *a)
{
    struct app_terms *t = &a->terms;
    t->account_no = (uint32_t)number(r, "AccountNo", 1, NUMBER_MAX);
    t->app_no = a->app_no;
    a->currency_text = money(r, "CurrencyValue", &t->currency_micros);
    money(r, "DisqualificationReward", &t->disqualification_reward_micros);
    t->disqualification_cap = (uint32_t)number(r, "DisqualificationCap", 0, UINT32_MAX);
    t->reward_decimals = (uint8_t)number(r, "RewardDecimals", 0, 6);
    t->legacy_fields = flag(r, "LegacyFields");
    t->extended_fields = flag(r, "ExtendedFields");
    t->negative_ad_hoc = flag(r, "NegativeAdHoc");
    t->trim_decimals = newer_flag(r, "TrimDecimals");
    t->numeric_goal_ids = newer_flag(r, "NumericOfferGoalId");
    t->withhold_tests = newer_flag(r, "WithholdTests");
    t->unwanted_types = read_unwanted_types(r);
    read_disabled_lanes(r, t);
    read_lane_enabled(r, a);
}

static bool read_app_certificate(struct document_reader *r, struct app *a)
{
    struct str pem = text_or_none(r, "ClientCertificate");
    const char *why;
    if (!pem.p)
        return true;
    if (!client_certificate_read(r->arena, pem, &a->certificate, &why))
        wrong(r, "ClientCertificate");
    return open_sealed(r, text(r, "ClientKey"), &a->certificate.key);
}

bool document_read_app(struct arena *arena, const struct json *document, const struct vault *vault,
                       struct app **ret, struct str *ret_why)
{
    struct document_reader r = {.arena = arena, .document = document, .vault = vault};
    struct app a = {
        .app_no = (uint32_t)number(&r, "AppNo", 1, NUMBER_MAX),
        .version = (uint64_t)number(&r, "Version", 1, INT64_MAX),
        .id = id(&r, "AppId"),
        .partner_id = id(&r, "PartnerId"),
        .name = text(&r, "Name"),
        .enabled = flag(&r, "Enabled"),
        .enabled_since_ms = number(&r, "EnabledSinceMs", 0, INT64_MAX),
        .timeout_ms = (int32_t)number(&r, "TimeoutMs", 1, INT32_MAX),
        .max_concurrency = (int32_t)number(&r, "MaxConcurrency", 1, INT32_MAX),
        .rate_per_second = (int32_t)number(&r, "RatePerSecond", 0, INT32_MAX),
    };
    read_app_terms(&r, &a);
    read_final_statuses(&r, &a.final_statuses);
    read_success_answer(&r, &a.success_answer);
    a.request_format = read_request_format(&r);
    bool opened = read_secrets(&r, "Secret", &a.secrets) && read_app_certificate(&r, &a);
    for (int kind = LANE_SUCCESS; opened && kind < LANE_KINDS; kind++)
        a.url[kind] = url_or_none(&r, lane_url_field((enum lane_kind)kind));
    if (!done(&r, "app", a.id, ret_why))
        return false;
    a.under_second_key = r.under_second;
    const char *why = "its Callback Secret cannot be opened: the master key is another one, or "
                      "the document is damaged";
    bool good = opened && app_pack(&a, ret, &why);
    if (!good) {
        struct buf sentence = {0};
        buf_printf(&sentence, "the document of app %.*s: %s", STR_ARG(a.id), why);
        *ret_why = arena_str(arena, buf_str(&sentence));
        buf_free(&sentence);
    }
    wipe_secrets(&a.secrets);
    sodium_memzero((void *)a.certificate.key.p, a.certificate.key.n);
    return good;
}

bool document_read_client(struct arena *arena, const struct json *document, struct client **ret,
                          struct str *ret_why)
{
    struct document_reader r = {.arena = arena, .document = document};
    struct client c = {
        .client_no = (uint32_t)number(&r, "ClientNo", 1, NUMBER_MAX),
        .version = (uint64_t)number(&r, "Version", 1, INT64_MAX),
        .account_no = (uint32_t)number(&r, "AccountNo", 1, NUMBER_MAX),
        .app_no = (uint32_t)number(&r, "AppNo", 1, NUMBER_MAX),
        .id = id(&r, "ClientId"),
        .app_id = id(&r, "AppId"),
        .name = text(&r, "Name"),
        .enabled = flag(&r, "Enabled"),
    };
    if (!integration_parse(text(&r, "Integration"), &c.integration))
        wrong(&r, "Integration");
    if (!done(&r, "client", c.id, ret_why))
        return false;
    *ret = client_pack(&c);
    return true;
}

bool document_read_key(struct arena *arena, const struct json *document, struct api_key **ret,
                       struct str *ret_why)
{
    struct document_reader r = {.arena = arena, .document = document};
    struct api_key k = {
        .key_no = (uint32_t)number(&r, "KeyNo", 1, NUMBER_MAX),
        .version = (uint64_t)number(&r, "Version", 1, INT64_MAX),
        .account_no = (uint32_t)number(&r, "AccountNo", 0, NUMBER_MAX),
        .scopes = (uint32_t)number(&r, "Scopes", 0, SCOPES_ALL),
        .expires_ms = number(&r, "ExpiresMs", 0, INT64_MAX),
        .stored_used_ms = number(&r, "UsedMs", 0, INT64_MAX),
        .id = id(&r, "KeyId"),
        .name = text(&r, "Name"),
        .person = text_or_none(&r, "Person"),
        .by_operator = flag(&r, "ByOperator"),
    };
    struct str hex = text(&r, "Sha256");
    size_t n = 0;
    if (!hex.p || sodium_hex2bin(k.hash, sizeof k.hash, hex.p, hex.n, NULL, &n, NULL) != 0 ||
        n != sizeof k.hash)
        wrong(&r, "Sha256");
    if (!done(&r, "key", k.id, ret_why))
        return false;
    atomic_init(&k.used_ms, k.stored_used_ms);
    *ret = api_key_pack(&k);
    return true;
}
