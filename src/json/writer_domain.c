/* JSON out for the domain's own values: they are printed by the domain, between the writer's
 * commas. */
#include "domain/clock.h"
#include "domain/money.h"
#include "domain/url.h"
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

void json_key_money(struct json_writer *w, const char *name, __int128 micros, int min_digits)
{
    json_key(w, name);
    json_money(w, micros, min_digits);
}

void json_key_time(struct json_writer *w, const char *name, int64_t ms)
{
    json_key(w, name);
    json_time(w, ms);
}

void json_key_time_or_null(struct json_writer *w, const char *name, int64_t ms)
{
    if (ms)
        json_key_time(w, name, ms);
    else
        json_key_c(w, name, NULL);
}

void json_key_url_masked(struct json_writer *w, const char *name, struct str url)
{
    struct buf room = {0};
    json_key_string(w, name, url_masked(url, &room));
    buf_free(&room);
}
