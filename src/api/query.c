/* Parses query strings: application/x-www-form-urlencoded (WHATWG URL standard, section 5.1), but
 * strict: refuses what no form would send, and names the parameter. Also reads parameters that many
 * routes take, such as `limit` (query_limit) and `after` (query_after), and refuses bad values. */
#include "api/query.h"

#include "api/route.h"
#include "domain/clock.h"
#include "services/cursor.h"

bool query_decode(struct arena *arena, struct str text, bool plus_is_space, struct str *ret)
{
    char *out = arena_alloc(arena, text.n + 1);
    size_t n = 0;
    while (text.n > 0) {
        char c;
        if (!str_take_percent(&text, &c)) {
            c = text.p[0];
            if (c == '%')
                return false;
            if (c == '+' && plus_is_space)
                c = ' ';
            text = (struct str){text.p + 1, text.n - 1};
        }
        if (c == '\0')
            return false;
        out[n++] = c;
    }
    out[n] = '\0';
    *ret = (struct str){out, n};
    return str_is_utf8(*ret);
}

bool query_decode_pair(struct arena *arena, struct str pair, struct parameter *ret)
{
    struct str value = pair, raw_name = str_cut(&value, '=');
    struct parameter decoded = {0};
    if (!query_decode(arena, raw_name, true, &decoded.name) ||
        (value.p && !query_decode(arena, value, true, &decoded.value)))
        return false;
    *ret = decoded;
    return true;
}

static bool known_name(const struct route_parameter *known, bool also_partner_id, struct str name)
{
    if (also_partner_id && str_is(name, "partnerId"))
        return true;
    for (; known && known->name; known++)
        if (str_is(name, known->name))
            return true;
    return false;
}

static void judge(struct call *c, const struct route_parameter *known, bool also_partner_id,
                  struct str pair)
{
    struct parameter given;
    if (!query_decode_pair(&c->r->arena, pair, &given)) {
        struct str rest = pair;
        problem_add(&c->problems, str_cut(&rest, '='), "invalid",
                    "The parameter is not valid percent-encoded UTF-8.");
        return;
    }
    if (!known_name(known, also_partner_id, given.name)) {
        if (c->route->flags & ROUTE_OPEN_QUERY)
            return;
        problem_add(&c->problems, given.name, "unknown_parameter",
                    "This path has no such parameter.");
        return;
    }
    if (!given.value.n) {
        problem_add(&c->problems, given.name, "invalid",
                    "The parameter is empty. Leave it out to use the default.");
        return;
    }
    for (size_t i = 0; i < c->parameter_count; i++) {
        if (str_eq(c->parameters[i].name, given.name)) {
            problem_add(&c->problems, given.name, "invalid",
                        "The parameter is given twice. Give it once.");
            return;
        }
    }
    if (c->parameter_count < CALL_PARAMETERS_MAX)
        c->parameters[c->parameter_count++] = given;
}

bool query_parse(struct call *c, const struct route_parameter *known, bool also_partner_id)
{
    struct str rest = c->r->query;
    if (!rest.n)
        return true;
    while (rest.p) {
        struct str pair = str_cut(&rest, '&');
        judge(c, known, also_partner_id, pair);
        if (c->problems.count >= CALL_PARAMETERS_MAX)
            break;
    }
    return c->problems.count == 0;
}

int64_t query_int(struct call *c, const char *name, int64_t least, int64_t most, int64_t fallback)
{
    struct str text = call_parameter(c, name);
    if (!text.p)
        return fallback;
    uint64_t number = 0;
    bool good = text.n < 18 && str_parse_uint(text, INT64_MAX, &number);
    int64_t v = (int64_t)number;
    if (!good || v < least || v > most) {
        problem_add(&c->problems, str_of(name), good ? "out_of_range" : "invalid",
                    "A whole number from %lld to %lld.", (long long)least, (long long)most);
        return fallback;
    }
    return v;
}

uint32_t query_limit(struct call *c)
{
    return (uint32_t)query_int(c, "limit", 1, LIST_MOST, LIST_DEFAULT);
}

bool query_bool(struct call *c, const char *name, bool fallback)
{
    struct str text = call_parameter(c, name);
    if (!text.p)
        return fallback;
    if (str_is(text, "true"))
        return true;
    if (!str_is(text, "false"))
        problem_add(&c->problems, str_of(name), "invalid", "true or false.");
    return false;
}

bool query_time(struct call *c, const char *name, int64_t *ret_ms)
{
    struct str text = call_parameter(c, name);
    if (text.p && !clock_parse_rfc3339(text, ret_ms))
        problem_add(&c->problems, str_of(name), "invalid",
                    "A time with its offset (RFC 3339), such as 2026-11-20T12:00:00Z.");
    return text.p != NULL;
}

void query_check_times(struct call *c, int64_t from_ms, int64_t to_ms)
{
    if (c->problems.count == 0 && to_ms < from_ms)
        problem_add(&c->problems, STR("from"), "invalid", "from is after to.");
}

bool query_day(struct call *c, const char *name, int32_t *ret_day)
{
    struct str text = call_parameter(c, name);
    if (text.p && !clock_parse_day(text, ret_day))
        problem_add(&c->problems, str_of(name), "invalid",
                    "A day as YYYY-MM-DD, such as 2026-11-20.");
    return text.p != NULL;
}

bool query_after(struct call *c, uint64_t *ret_position)
{
    struct str text = call_parameter(c, "after");
    if (text.p && !cursor_parse(text, c->account_no, ret_position))
        problem_add(&c->problems, STR("after"), "invalid", QUERY_AFTER_DETAIL);
    return text.p != NULL;
}
