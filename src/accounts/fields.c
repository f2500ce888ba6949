/* Checks the members of account bodies; see fields.h. The detail of a problem names the limit. */
#include "accounts/fields.h"

#include "accounts/names.h"
#include "base/buf.h"
#include "base/limits.h"
#include "domain/clock.h"
#include "domain/email.h"
#include "domain/event_type_list.h"
#include "domain/signature.h"
#include "domain/url_macros.h"
#include "json/values.h"

#include <errno.h>
#include <inttypes.h>

static const struct field_rule *rule_of(const struct field_rule *rules, size_t count,
                                        struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(name, rules[i].name))
            return &rules[i];
    return NULL;
}

bool fields_check(const struct fields *f, const struct field_rule *rules, size_t count)
{
    if (f->body->type != JSON_OBJECT) {
        problem_add(f->faults, STR(""), "invalid", "the body must be a JSON object");
        return false;
    }
    uint64_t seen = 0;
    ASSERT(count <= 64);
    for (const struct json *m = f->body->first; m; m = m->next) {
        const struct field_rule *rule = rule_of(rules, count, m->name);
        if (!rule || (!rule->create && !rule->patch)) {
            problem_add(f->faults, m->name, "unknown_field", "there is no such field");
            continue;
        }
        uint64_t bit = UINT64_C(1) << (rule - rules);
        if (seen & bit)
            problem_add(f->faults, m->name, "invalid", "the field is given twice");
        else if (f->patch ? !rule->patch : !rule->create)
            problem_add(f->faults, m->name, "invalid",
                        "the field is read-only: it cannot be changed here");
        seen |= bit;
    }
    return true;
}

bool fields_given(const struct fields *f, const char *name)
{
    return json_member(f->body, name) != NULL;
}

void fields_operators_only(const struct fields *f, const char *name)
{
    if (f->by_partner && fields_given(f, name))
        problem_add(f->faults, str_of(name), "invalid",
                    "only the operator of this service can set this field");
}

void fields_required(const struct fields *f, const char *name)
{
    if (!fields_given(f, name))
        problem_add(f->faults, str_of(name), "required", "the field is required");
}

void fields_bool(const struct fields *f, const char *name, bool *ret)
{
    value_bool(json_member(f->body, name), str_of(name), f->faults, ret);
}

void fields_int(const struct fields *f, const char *name, int64_t least, int64_t most, int64_t *ret)
{
    const struct json *v = json_member(f->body, name);
    int64_t n = 0;
    if (!v)
        return;
    if (!value_whole_number(v, &n))
        problem_add(f->faults, str_of(name), "invalid", "must be a whole number");
    else if (n < least || n > most)
        problem_add(f->faults, str_of(name), "out_of_range", "must be from %" PRId64 " to %" PRId64,
                    least, most);
    else
        *ret = n;
}

void fields_int_or_null(const struct fields *f, const char *name, int64_t least, int64_t most,
                        int64_t *ret)
{
    const struct json *v = json_member(f->body, name);
    if (v && v->type == JSON_NULL)
        *ret = 0;
    else
        fields_int(f, name, least, most, ret);
}

/* False: it is wrong, and a problem was added. */
static bool final_status(const struct fields *f, const char *name, const struct json *v,
                         struct final_statuses *to)
{
    int64_t status = 0;
    if (!value_whole_number(v, &status)) {
        problem_add(f->faults, str_of(name), "invalid",
                    "must hold whole numbers only, each from %d to %d", FINAL_STATUS_LEAST,
                    FINAL_STATUS_MOST);
        return false;
    }
    if (status < FINAL_STATUS_LEAST || status > FINAL_STATUS_MOST) {
        problem_add(f->faults, str_of(name), "out_of_range",
                    "must hold statuses from %d to %d only; leave out %.*s", FINAL_STATUS_LEAST,
                    FINAL_STATUS_MOST, STR_ARG(v->text));
        return false;
    }
    final_statuses_add(to, (int32_t)status);
    return true;
}

void fields_final_statuses(const struct fields *f, const char *name, struct final_statuses *ret)
{
    const struct json *list = json_member(f->body, name);
    struct final_statuses given = {0};
    if (!list)
        return;
    if (list->type != JSON_ARRAY) {
        problem_add(f->faults, str_of(name), "invalid",
                    "must be a list of statuses from %d to %d, such as [404]; [] for none",
                    FINAL_STATUS_LEAST, FINAL_STATUS_MOST);
        return;
    }
    for (const struct json *v = list->first; v; v = v->next)
        if (!final_status(f, name, v, &given))
            return;
    *ret = given;
}

void fields_reward_types(const struct fields *f, const char *name, uint32_t *ret_unwanted)
{
    const struct json *list = json_member(f->body, name);
    uint32_t wanted = 0;
    if (!list)
        return;
    if (list->type == JSON_NULL) {
        *ret_unwanted = 0;
        return;
    }
    if (list->type != JSON_ARRAY || !list->first) {
        problem_add(f->faults, str_of(name), "invalid",
                    "must be a list of at least one RewardType, or null for all of them");
        return;
    }
    for (const struct json *v = list->first; v; v = v->next) {
        enum event_type type = EVENT_SURVEY_STARTED;
        if (v->type != JSON_STRING || !event_type_parse(v->text, &type) ||
            event_lane(type) == LANE_NONE) {
            event_types_refuse(f->faults, str_of(name), "must hold only", EVENT_TYPES_REWARD);
            return;
        }
        wanted |= UINT32_C(1) << type;
    }
    *ret_unwanted = ~wanted;
}

void fields_money(const struct fields *f, const char *name, int64_t least_micros,
                  int64_t most_micros, int64_t *ret_micros, struct str *ret_text)
{
    const struct json *v = json_member(f->body, name);
    int64_t micros = 0;
    if (!v)
        return;
    enum money_parse parsed = value_money(v, str_of(name), f->faults, &micros);
    if (parsed == MONEY_TOO_LARGE ||
        (parsed == MONEY_OK && (micros < least_micros || micros > most_micros))) {
        value_money_out_of_range(str_of(name), least_micros, most_micros, f->faults);
    } else if (parsed == MONEY_OK) {
        *ret_micros = micros;
        if (ret_text)
            *ret_text = v->text;
    }
}

void fields_text(const struct fields *f, const char *name, size_t least_bytes, size_t most_bytes,
                 struct str *ret)
{
    value_text(json_member(f->body, name), str_of(name), least_bytes, most_bytes, f->faults, ret);
}

void fields_time(const struct fields *f, const char *name, int64_t *ret_ms)
{
    const struct json *v = json_member(f->body, name);
    if (v && (v->type != JSON_STRING || !clock_parse_rfc3339(v->text, ret_ms)))
        problem_add(f->faults, str_of(name), "invalid",
                    "must be a time with an offset, such as 2027-01-31T00:00:00Z");
}

void fields_operations_format(const struct fields *f, const char *name, enum operations_format *ret)
{
    struct str format = STR_NONE;
    fields_text(f, name, 0, NAME_BYTES_MAX, &format);
    if (format.p && !operations_format_parse(format, ret))
        problem_add(f->faults, str_of(name), "invalid",
                    "must be standard, slack, teams or discord");
}

void fields_request_format(const struct fields *f, const char *name, enum request_format *ret)
{
    struct str format = STR_NONE;
    fields_text(f, name, 0, NAME_BYTES_MAX, &format);
    if (format.p && !request_format_parse(format, ret))
        problem_add(f->faults, str_of(name), "invalid", "must be json, form or get");
}

void fields_email(const struct fields *f, const char *name, struct str *ret)
{
    const struct json *v = json_member(f->body, name);
    if (!v)
        return;
    struct str text = v->type == JSON_STRING ? v->text : STR_NONE;
    const char *fault = v->type == JSON_NULL ? NULL : email_fault(text);
    if (fault)
        problem_add(f->faults, str_of(name), "invalid", "%s, or null", fault);
    else
        *ret = text;
}

void fields_id(const struct fields *f, const char *name, struct str *ret)
{
    const struct json *v = json_member(f->body, name);
    if (!v)
        return;
    if (v->type != JSON_STRING || !account_id_valid(v->text))
        problem_add(f->faults, str_of(name), "invalid",
                    "must be 1 to 64 letters, digits, '_' or '-'");
    else
        *ret = v->text;
}

/* Names that always mean the machine itself (RFC 6761, 6.3). */
static bool is_localhost(struct str host)
{
    static const char suffix[] = ".localhost";
    size_t n = sizeof suffix - 1;
    if (host.n > 0 && host.p[host.n - 1] == '.')
        host.n--;
    return str_is(host, "localhost") || (host.n > n && memcmp(host.p + host.n - n, suffix, n) == 0);
}

/* Why callbacks cannot be sent to an address that is written in the URL; NULL: they can. */
static const char *address_problem(const struct fields *f, const struct url *url)
{
    struct address address = {.family = AF_INET, .bytes = {127, 0, 0, 1}};
    if (url->host_is_address)
        address = url->address;
    else if (!is_localhost(url->host))
        return NULL;
    switch (destination_judge(f->rules, &address)) {
    case DESTINATION_NOT_PUBLIC:
        return "the address is not public; callbacks are only sent to public addresses";
    case DESTINATION_DENIED:
        return "the operator of this service does not allow callbacks to this address";
    case DESTINATION_PUBLIC:
    case DESTINATION_ALLOWED: break;
    }
    return NULL;
}

void fields_url(const struct fields *f, const char *name, struct str *ret)
{
    const struct json *v = json_member(f->body, name);
    struct url url;
    const char *why = "must be a string or null";
    if (!v)
        return;
    if (v->type == JSON_NULL) {
        *ret = STR_NONE;
        return;
    }
    if (v->type == JSON_STRING && url_is_masked_form_of(v->text, *ret))
        return;
    if (v->type == JSON_STRING && url_parse(f->faults->arena, v->text, &url, &why))
        why = url_is_masked(&url) ? URL_MASKED_WHY : address_problem(f, &url);
    if (why)
        problem_add(f->faults, str_of(name), "invalid", "%s", why);
    else
        *ret = v->text;
}

/* A URL that is set already is accepted again, even if its braces are not valid macros. */
void fields_callback_url(const struct fields *f, const char *name, struct str *ret)
{
    const struct json *v = json_member(f->body, name);
    struct buf why = {0};
    if (v && v->type == JSON_STRING && !url_is_masked_form_of(v->text, *ret) &&
        !url_macros_check(v->text, &why))
        problem_add(f->faults, str_of(name), "invalid", "%s", buf_c(&why));
    else
        fields_url(f, name, ret);
    buf_free(&why);
}

void fields_callback_secret(const struct fields *f, const char *name, struct str *ret)
{
    const char *why = NULL;
    struct str secret = STR_NONE;
    fields_operators_only(f, name);
    fields_text(f, name, SECRET_BYTES_MIN, SECRET_BYTES_MAX, &secret);
    if (secret.p && !signature_secret_valid(secret, &why))
        problem_add(f->faults, str_of(name), "invalid", "%s", why);
    else if (secret.p)
        *ret = secret;
}

static const struct field_rule success_rules[] = {
    {"Body", true, true},
    {"Contains", true, true},
    {"Field", true, true},
    {"Value", true, true},
};

static void success_wrong(const struct fields *f, const char *name, const char *why)
{
    problem_add(f->faults, str_of(name), "invalid", "%s", why);
}

/* The rule of a setting with these members; SUCCESS_ANY: they make no rule. */
static enum success_rule success_rule_of(const struct json *setting)
{
    bool body = json_member(setting, "Body"), part = json_member(setting, "Contains");
    bool field = json_member(setting, "Field"), value = json_member(setting, "Value");
    if (field != value || body + part + field != 1)
        return SUCCESS_ANY;
    return body ? SUCCESS_BODY : part ? SUCCESS_CONTAINS : SUCCESS_FIELD;
}

void fields_success_answer(const struct fields *f, const char *name, struct success_answer *ret)
{
    const struct json *given = json_member(f->body, name);
    struct success_answer made = {0};
    struct fields own = *f;
    size_t before = f->faults->count;
    const char *why = NULL;
    if (!given)
        return;
    if (given->type != JSON_NULL) {
        own.body = given;
        if (given->type == JSON_OBJECT &&
            !fields_check(&own, success_rules, ARRAY_LEN(success_rules)))
            return;
        made.rule = success_rule_of(given);
        if (made.rule == SUCCESS_ANY && f->faults->count == before)
            success_wrong(f, name,
                          "must be {\"Body\":text}, {\"Contains\":text}, {\"Field\":name, "
                          "\"Value\":text}, or null for every 2xx");
        if (f->faults->count > before)
            return;
        const char *text = success_text_member(made.rule);
        fields_text(&own, text, 1, LIMIT_SUCCESS_TEXT_BYTES, &made.text);
        fields_text(&own, "Field", 1, LIMIT_SUCCESS_FIELD_BYTES, &made.field);
        if (made.text.p && made.rule == SUCCESS_BODY && !success_text_valid(made.text, &why))
            success_wrong(f, text, why);
        if (made.field.p && !success_field_valid(made.field, &why))
            success_wrong(f, "Field", why);
    }
    if (f->faults->count == before)
        *ret = made;
}
