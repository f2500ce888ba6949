/* Readers of an event's members; see item_values.h. */
#include "intake/item_values.h"

#include "base/limits.h"
#include "domain/event.h"

#define OFFER_ID_MAX ((INT64_C(1) << 53) - 1)

bool value_amount(const struct json *v, const struct amount_range *range, struct problems *faults,
                  int64_t *ret_micros)
{
    int64_t micros = 0;
    if (!v)
        return false;
    enum money_parse parsed = value_money(v, range->name, faults, &micros);
    bool is_amount = parsed == MONEY_OK || parsed == MONEY_TOO_LARGE;
    bool in_range = parsed == MONEY_OK && micros >= range->least && micros <= range->most;
    if (is_amount && !in_range && range->most == 0)
        problem_add(faults, range->name, "invalid",
                    "events of this type carry no amounts: leave it out or send 0");
    else if (is_amount && !in_range)
        value_money_out_of_range(range->name, range->least, range->most, faults);
    if (in_range)
        *ret_micros = micros;
    return in_range;
}

void value_event_id(const struct json *v, struct str name, struct problems *faults, struct str *ret)
{
    if (!v)
        return;
    if (v->type != JSON_STRING || !event_id_valid(v->text))
        problem_add(faults, name, "invalid",
                    "must be 1 to 128 letters, digits, '_', ':' or '-', the first a letter or "
                    "digit");
    else if (str_has_prefix(v->text, EVENT_ID_OF_TESTS))
        problem_add(faults, name, "invalid",
                    "must not begin with " EVENT_ID_OF_TESTS
                    ", which is kept for test callbacks; choose another id");
    else
        *ret = v->text;
}

void value_optional_text(const struct json *v, struct str name, struct problems *faults,
                         struct str *ret)
{
    if (v && v->type != JSON_NULL)
        value_text(v, name, 0, LIMIT_TEXT_BYTES, faults, ret);
}

void value_offer_goal_id(const struct json *v, struct problems *faults, struct str *ret)
{
    int64_t number;
    if (!v || v->type == JSON_NULL)
        return;
    if (v->type != JSON_STRING && !value_whole_number(v, &number))
        problem_add(faults, STR("OfferGoalId"), "invalid", "must be a string or an integer");
    else if (v->text.n > LIMIT_TEXT_BYTES)
        problem_add(faults, STR("OfferGoalId"), "out_of_range", "must have at most %d bytes",
                    LIMIT_TEXT_BYTES);
    else
        *ret = v->text;
}

void value_offer_id(const struct json *v, struct problems *faults, int64_t *ret)
{
    int64_t n = 0;
    if (!v)
        return;
    if (!value_whole_number(v, &n))
        problem_add(faults, STR("OfferId"), "invalid", "must be an integer");
    else if (n < 1 || n > OFFER_ID_MAX)
        problem_add(faults, STR("OfferId"), "out_of_range", "must be from 1 to 9007199254740991");
    else
        *ret = n;
}
