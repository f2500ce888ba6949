/* Readers of single values; see values.h. */
#include "json/values.h"

#include "base/buf.h"

#include <stdlib.h>

void value_bool(const struct json *v, struct str name, struct problems *faults, bool *ret)
{
    if (!v)
        return;
    if (v->type == JSON_TRUE || v->type == JSON_FALSE)
        *ret = v->type == JSON_TRUE;
    else
        problem_add(faults, name, "invalid", "must be true or false");
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

bool value_whole_number(const struct json *v, int64_t *ret)
{
    if (v->type != JSON_NUMBER)
        return false;
    for (size_t i = v->text.p[0] == '-'; i < v->text.n; i++)
        if (v->text.p[i] < '0' || v->text.p[i] > '9')
            return false;
    char digits[24] = "";
    if (v->text.n >= sizeof digits) { /* far out of any range, whichever */
        *ret = v->text.p[0] == '-' ? INT64_MIN : INT64_MAX;
        return true;
    }
    memcpy(digits, v->text.p, v->text.n);
    *ret = strtoll(digits, NULL, 10); /* out of range: the nearest end, out of ours too */
    return true;
}

enum money_parse value_money(const struct json *v, struct str name, struct problems *faults,
                             int64_t *ret_micros)
{
    enum money_parse parsed = MONEY_INVALID;
    if (v->type == JSON_NUMBER || v->type == JSON_STRING)
        parsed = money_parse(v->text, ret_micros);
    if (parsed == MONEY_INVALID)
        problem_add(faults, name, "invalid", "must be a decimal number");
    else if (parsed == MONEY_TOO_FINE)
        problem_add(faults, name, "invalid", "has more than 6 fractional digits");
    return parsed;
}

void value_money_out_of_range(struct str name, int64_t least_micros, int64_t most_micros,
                              struct problems *faults)
{
    struct buf least = {0}, most = {0};
    money_print(&least, least_micros, 0);
    money_print(&most, most_micros, 0);
    problem_add(faults, name, "out_of_range", "must be from %s to %s", buf_c(&least), buf_c(&most));
    buf_free(&least);
    buf_free(&most);
}
