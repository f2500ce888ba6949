/* JSON out for the domain's own values: they are printed by the domain, between the writer's
 * commas. */
#include "domain/clock.h"
#include "domain/money.h"
#include "json/writer.h"

void json_money(struct json_writer *w, __int128 micros, int min_digits)
{
    json_raw(w, STR(""));
    money_print_wide(w->to, micros, min_digits);
}

void json_time(struct json_writer *w, int64_t ms)
{
    json_raw(w, STR("\""));
    clock_print(w->to, ms);
    buf_add_char(w->to, '"');
}
