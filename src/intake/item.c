/* Finds and judges the members of one event, and its Timestamp: too old or in the future. Every
 * fault is added, so that the sender can fix all of them at once; details name the limit. */
#include "intake/item.h"

#include "base/buf.h"
#include "base/limits.h"
#include "domain/acceptance.h"
#include "domain/clock.h"
#include "domain/event_type_list.h"
#include "domain/money.h"
#include "intake/item_values.h"

struct field_row {
    struct str name;
    uint32_t on, required;
};

static const struct field_row rows[EVENT_FIELD_LAST + 1] = {
#define EVENT_FIELD_ROW(number, symbol, name, on, required) [number] = {STR(name), on, required},
    EVENT_FIELDS(EVENT_FIELD_ROW)
#undef EVENT_FIELD_ROW
};

static int field_of(struct str name)
{
    for (int field = 1; field <= EVENT_FIELD_LAST; field++)
        if (rows[field].name.n == name.n && memcmp(rows[field].name.p, name.p, name.n) == 0)
            return field;
    return 0;
}

void item_find(const struct json *object, struct problems *faults, struct item *ret_item)
{
    *ret_item = (struct item){0};
    if (object->type != JSON_OBJECT) {
        problem_add(faults, STR(""), "invalid", "an event must be a JSON object");
        return;
    }
    for (const struct json *m = object->first; m; m = m->next) {
        int field = field_of(m->name);
        if (!field)
            problem_add(faults, m->name, "unknown_field", "events have no such field");
        else if (ret_item->field[field])
            problem_add(faults, m->name, "invalid", "the field is given twice");
        else
            ret_item->field[field] = m;
    }
}

bool item_find_unusable(const struct json *object, struct problems *faults)
{
    bool found = false;
    for (const struct json *m = object->first; m; m = m->next) {
        if (m->unusable)
            problem_add(faults, m->name, "invalid", "%s", m->unusable);
        found |= m->unusable != NULL;
    }
    return found;
}

struct str item_event_id(const struct item *item)
{
    const struct json *v = item->field[FIELD_EVENT_ID];
    if (!v || v->type != JSON_STRING || v->unusable || v->text.n > LIMIT_EVENT_ID_BYTES)
        return STR_NONE;
    return v->text;
}

static void wrong_type_of_event(struct problems *faults, const struct field_row *row,
                                enum event_type type)
{
    struct buf types = {0};
    event_types_print(&types, row->on);
    problem_add(faults, row->name, "invalid", "the field is only for %s, not for %s", buf_c(&types),
                event_type_name(type));
    buf_free(&types);
}

/* Checks which fields are missing and which must not be there. */
static void judge_presence(const struct item *item, enum event_type type, struct problems *faults)
{
    /* without a type only fields of every event can be required */
    for (int field = 1; field <= EVENT_FIELD_LAST; field++) {
        const struct field_row *row = &rows[field];
        bool required = type ? row->required & (1u << type) : row->required == ON_ALL;
        if (item->field[field] && type && !(row->on & (1u << type)))
            wrong_type_of_event(faults, row, type);
        else if (!item->field[field] && required)
            problem_add(faults, row->name, "required", "the field is required on %s",
                        row->required == ON_ALL ? "every event" : event_type_name(type));
    }
}

static enum event_type judge_type(const struct json *v, struct problems *faults)
{
    enum event_type type = 0;
    if (v && (v->type != JSON_STRING || !event_type_parse(v->text, &type)))
        event_types_refuse(faults, STR("Type"), "must be one of", EVENT_TYPES_ALL);
    return type;
}

/* The app's switch NegativeAdHoc decides whether a claw-back is accepted; it may have been on
 * before. */
static void judge_claw_back(const struct item_client *client, const struct candidate *c,
                            struct item_faults *faults)
{
    if (!client->terms || client->terms->negative_ad_hoc)
        return;
    if (c->revenue_micros < 0)
        problem_add(&faults->of_now, STR("RevenueAmount"), "out_of_range",
                    "must not be negative: the app's NegativeAdHoc is off");
    if (c->reward_micros < 0)
        problem_add(&faults->of_now, STR("Reward"), "out_of_range",
                    "must not be negative: the app's NegativeAdHoc is off");
    faults->doubt |= c->revenue_micros < 0 || c->reward_micros < 0;
}

/* Faults of an ad_hoc's amounts that no setting allows. */
static void judge_signs(const struct item *item, const struct candidate *c, struct problems *faults)
{
    const struct json *reason = item->field[FIELD_REASON];
    bool is_claw_back = c->revenue_micros < 0 || c->reward_micros < 0;
    if (is_claw_back && (!reason || reason->type == JSON_NULL))
        problem_add(faults, STR("Reason"), "required",
                    "a negative ad_hoc must say why: give a Reason");
    if ((c->revenue_micros < 0 && c->reward_micros > 0) ||
        (c->revenue_micros > 0 && c->reward_micros < 0))
        problem_add(faults, STR("RevenueAmount"), "invalid",
                    "RevenueAmount and Reward must not have opposite signs");
}

static void judge_amounts(const struct item *item, const struct item_client *client,
                          enum event_type type, struct item_faults *faults, struct candidate *c)
{
    const struct json *revenue = item->field[FIELD_REVENUE_AMOUNT];
    const struct json *reward = item->field[FIELD_REWARD];
    struct amount_range range = {STR("RevenueAmount"), 0, MONEY_MAX_REVENUE_MICROS};
    if (type == EVENT_SURVEY_STARTED || type == EVENT_OFFER_CLICKED ||
        type == EVENT_OFFER_COMPLETION_REVERSED)
        range.most = 0;
    bool none = range.most == 0;
    bool negative = type == EVENT_AD_HOC;
    if (negative)
        range.least = -range.most;
    c->has_revenue = value_amount(revenue, &range, &faults->own, &c->revenue_micros) && !none;
    range.name = STR("Reward");
    range.most = none ? 0 : MONEY_MAX_REWARD_MICROS;
    range.least = negative ? -range.most : 0;
    c->has_reward = value_amount(reward, &range, &faults->own, &c->reward_micros) && !none;
    judge_signs(item, c, &faults->own);
    judge_claw_back(client, c, faults);
}

static void judge_time(const struct json *v, int64_t now_ms, bool imported,
                       struct item_faults *faults, struct candidate *c)
{
    c->occurred_ms = now_ms;
    if (!v)
        return;
    if (v->type != JSON_STRING || !clock_parse_rfc3339(v->text, &c->occurred_ms)) {
        problem_add(&faults->own, STR("Timestamp"), "invalid",
                    "must be an RFC 3339 time with an offset, as 2026-11-20T12:00:00Z");
        return;
    }
    int64_t oldest_ms = now_ms - LIMIT_EVENT_AGE_DAYS * DAY_MS;
    int64_t newest_ms = now_ms + LIMIT_EVENT_FUTURE_MS;
    if (imported && c->occurred_ms > newest_ms)
        problem_add(&faults->of_now, STR("Timestamp"), "out_of_range",
                    "must be at most 5 minutes in the future");
    else if (!imported && (c->occurred_ms < oldest_ms || c->occurred_ms > newest_ms))
        problem_add(&faults->of_now, STR("Timestamp"), "out_of_range",
                    "must be at most 90 days in the past and 5 minutes in the future");
}

static void judge_texts(const struct item *item, enum event_type type, struct problems *faults,
                        struct candidate *c)
{
    const struct json *const *field = item->field;
    value_event_id(field[FIELD_EVENT_ID], STR("EventId"), faults, &c->event_id);
    value_text(field[FIELD_PANELIST_ID], STR("PanelistId"), 1, LIMIT_PANELIST_ID_BYTES, faults,
               &c->panelist_id);
    value_optional_text(field[FIELD_SESSION_ID], STR("SessionId"), faults, &c->session_id);
    value_optional_text(field[FIELD_MID], STR("Mid"), faults, &c->mid);
    value_optional_text(field[FIELD_REASON], STR("Reason"), faults, &c->reason);
    value_text(field[FIELD_OFFER_TITLE], STR("OfferTitle"), 1, LIMIT_TEXT_BYTES, faults,
               &c->offer_title);
    value_offer_goal_id(field[FIELD_OFFER_GOAL_ID], faults, &c->offer_goal_id);
    if (type == EVENT_OFFER_CLICKED)
        c->offer_goal_id = STR_NONE; /* null on every click, whatever was sent */
    const struct json *original = field[FIELD_ORIGINAL_REWARD_ID];
    if (!original || original->type != JSON_NULL || type != EVENT_AD_HOC)
        value_event_id(original, STR("OriginalRewardId"), faults, &c->original_reward_id);
}

/* The reward by the app's ratio must be one that can be paid. */
static void judge_computed_reward(const struct candidate *c, struct problems *faults)
{
    bool by_ratio = c->type == EVENT_SURVEY_COMPLETED || c->type == EVENT_OFFER_COMPLETED ||
                    c->type == EVENT_PROFILER_COMPLETED;
    int64_t reward_micros = 0;
    if (by_ratio && !c->has_reward && !acceptance_reward(c, &reward_micros))
        problem_add(faults, STR("Reward"), "out_of_range",
                    "RevenueAmount times the app's CurrencyValue is more than 1000000000");
}

void item_judge(const struct item *item, const struct item_client *client, int64_t now_ms,
                bool imported, struct item_faults *faults, struct candidate *ret)
{
    struct problems *own = &faults->own;
    enum event_type type = judge_type(item->field[FIELD_TYPE], own);
    struct candidate *c = ret;
    *c = (struct candidate){
        .terms = client->terms,
        .client_no = client->client_no,
        .integration = client->integration,
        .type = type,
        .deliver = !imported,
    };
    judge_presence(item, type, own);
    judge_texts(item, type, own, c);
    judge_amounts(item, client, type, faults, c);
    judge_time(item->field[FIELD_TIMESTAMP], now_ms, imported, faults, c);
    c->has_is_test = item->field[FIELD_IS_TEST] != NULL;
    value_bool(item->field[FIELD_IS_TEST], STR("IsTest"), own, &c->is_test);
    value_offer_id(item->field[FIELD_OFFER_ID], own, &c->offer_id);
    if (!own->count && client->terms)
        judge_computed_reward(c, &faults->of_now);
}
