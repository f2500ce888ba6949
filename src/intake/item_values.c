/* Readers of single values; see item_values.h. */
#include "intake/item_values.h"

#include "base/buf.h"
#include "base/limits.h"
#include "domain/event.h"
#include "domain/money.h"

#define OFFER_ID_MAX ((INT64_C(1) << 53) - 1)

static void amount_out_of_range(const struct amount_range *range, struct problems *faults)
{
    struct buf least = {0}, most = {0};
    money_print(&least, range->least, 0);
    money_print(&most, range->most, 0);
    problem_add(faults, range->name, "out_of_range", "must be from %s to %s", buf_c(&least),
                buf_c(&most));
    buf_free(&least);
    buf_free(&most);
}

bool value_amount(const struct json *v, const struct amount_range *range, struct problems *faults,
                  int64_t *ret_micros)
{
    enum money_parse parsed = MONEY_INVALID;
    int64_t micros = 0;
    if (!v)
        return false;
    if (v->type == JSON_NUMBER || v->type == JSON_STRING)
        parsed = money_parse(v->text, &micros);
    bool in_range = parsed == MONEY_OK && micros >= range->least && micros <= range->most;
    if (parsed == MONEY_INVALID)
        problem_add(faults, range->name, "invalid", "must be a decimal number");
    else if (parsed == MONEY_TOO_FINE)
        problem_add(faults, range->name, "invalid", "has more than 6 fractional digits");
    else if (!in_range && range->most == 0)
        problem_add(faults, range->name, "invalid",
                    "events of this type carry no amounts: leave it out or send 0");
    else if (!in_range)
        amount_out_of_range(range, faults);
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

void value_text(const struct json *v, struct str name, size_t least_bytes, size_t most_bytes,
                struct problems *faults, struct str *ret)
{
    if (!v)
        return;
    if (v->type != JSON_STRING)
        problem_add(faults, name, "invalid", "must be a string");
    else if (v->text.n < least_bytes || v->text.n > most_bytes)
        problem_add(faults, name, "out_of_range", "must have %zu to %zu bytes", least_bytes,
                    most_bytes);
    else
        *ret = v->text;
}

void value_optional_text(const struct json *v, struct str name, struct problems *faults,
                         struct str *ret)
{
    if (v && v->type != JSON_NULL)
        value_text(v, name, 0, LIMIT_TEXT_BYTES, faults, ret);
}

void value_bool(const struct json *v, struct str name, struct problems *faults, bool *ret)
{
    if (!v)
        return;
    if (v->type == JSON_TRUE || v->type == JSON_FALSE)
        *ret = v->type == JSON_TRUE;
    else
        problem_add(faults, name, "invalid", "must be true or false");
}

static bool is_integer(struct str number)
{
    for (size_t i = number.p[0] == '-'; i < number.n; i++)
        if (number.p[i] < '0' || number.p[i] > '9')
            return false;
    return true;
}

void value_offer_goal_id(const struct json *v, struct problems *faults, struct str *ret)
{
    if (!v || v->type == JSON_NULL)
        return;
    if (v->type == JSON_NUMBER ? !is_integer(v->text) : v->type != JSON_STRING)
        problem_add(faults, STR("OfferGoalId"), "invalid", "must be a string or an integer");
    else if (v->text.n > LIMIT_TEXT_BYTES)
        problem_add(faults, STR("OfferGoalId"), "out_of_range", "must have at most %d bytes",
                    LIMIT_TEXT_BYTES);
    else
        *ret = v->text;
}

void value_offer_id(const struct json *v, struct problems *faults, int64_t *ret)
{
    if (!v)
        return;
    if (v->type != JSON_NUMBER) {
        problem_add(faults, STR("OfferId"), "invalid", "must be an integer");
        return;
    }
    int64_t n = 0;
    bool negative = v->text.p[0] == '-', too_large = false;
    for (size_t i = negative; i < v->text.n; i++) {
        char c = v->text.p[i];
        if (c < '0' || c > '9') {
            problem_add(faults, STR("OfferId"), "invalid", "must be an integer");
            return;
        }
        too_large = too_large || n > OFFER_ID_MAX / 10;
        if (!too_large)
            n = n * 10 + (c - '0');
    }
    if (too_large || negative || n < 1 || n > OFFER_ID_MAX)
        problem_add(faults, STR("OfferId"), "out_of_range", "must be from 1 to 9007199254740991");
    else
        *ret = n;
}
