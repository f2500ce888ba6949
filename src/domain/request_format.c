/* JSON, form or query; see request_format.h. All values come from the JSON body, which is fixed at
 * acceptance, so a retry or a resend with the same settings sends the same values. */
#include "domain/request_format.h"

#include "domain/clock.h"
#include "domain/money.h"
#include "domain/payload_fields.h"
#include "domain/signature.h"
#include "domain/url_macros.h"

static const struct {
    const char *name, *method, *content_type;
} formats[] = {
    [REQUEST_JSON] = {"json", "POST", CONTENT_TYPE_JSON},
    [REQUEST_FORM] = {"form", "POST", CONTENT_TYPE_FORM},
    [REQUEST_GET] = {"get", "GET", NULL},
};

const char *request_format_name(enum request_format format)
{
    ASSERT((unsigned)format < ARRAY_LEN(formats));
    return formats[format].name;
}

const char *request_format_method(enum request_format format)
{
    ASSERT((unsigned)format < ARRAY_LEN(formats));
    return formats[format].method;
}

const char *request_format_content_type(enum request_format format)
{
    ASSERT((unsigned)format < ARRAY_LEN(formats));
    return formats[format].content_type;
}

bool request_format_parse(struct str name, enum request_format *ret_format)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        if (!str_is(name, formats[i].name))
            continue;
        *ret_format = (enum request_format)i;
        return true;
    }
    return false;
}

/* Signs the query in `to` from `start` on, up to the "&" before its last parameter, whose value is
 * appended now. */
static void add_signature(struct buf *to, size_t start, struct str secret)
{
    char hex[QUERY_SIGNATURE_BYTES];
    const char *question = memchr(to->p + start, '?', to->n - start);
    const char *end = memrchr(to->p + start, '&', to->n - start);
    struct str query = STR("");
    if (question && end > question)
        query = (struct str){question + 1, (size_t)(end - question - 1)};
    if (secret.p)
        signature_query(secret, query, hex);
    else
        memset(hex, '*', sizeof hex);
    buf_add(to, hex, sizeof hex);
}

static void add_fields(struct buf *to, struct str body)
{
    struct buf room = {0};
    struct payload_field field;
    const size_t start = to->n;
    while (payload_next_field(&body, &room, &field)) {
        if (to->n > start)
            buf_add_char(to, '&');
        url_encode(to, field.name);
        buf_add_char(to, '=');
        url_encode(to, field.value);
    }
    buf_free(&room);
}

static void add_query(struct buf *to, size_t start, const struct request_facts *facts)
{
    struct str own = {to->p + start, to->n - start};
    char last = own.n ? own.p[own.n - 1] : '\0';
    if (!memchr(own.p, '?', own.n))
        buf_add_char(to, '?');
    else if (last != '?' && last != '&')
        buf_add_char(to, '&');
    add_fields(to, facts->body);
    buf_add_c(to, "&" QUERY_SIGNATURE "=");
    add_signature(to, start, facts->secret);
}

/* Sets the values that every callback has, whatever its body has. */
static void add_facts(struct url_macro_values *values, const struct request_facts *facts,
                      struct buf *room)
{
    int64_t micros = 0;
    clock_print(room, facts->occurred_ms);
    const size_t time_n = room->n;
    if (money_parse(values->of[MACRO_REWARD], &micros) == MONEY_OK)
        buf_add_int(room, micros);
    values->of[MACRO_TIMESTAMP] = (struct str){room->p, time_n};
    values->of[MACRO_REWARD_MICROS] = (struct str){room->p + time_n, room->n - time_n};
    values->of[MACRO_IS_TEST] = facts->is_test ? STR("true") : STR("false");
}

static void replace_macros(struct buf *to, struct str target, const struct request_facts *facts)
{
    struct buf unescaped = {0}, more = {0};
    struct url_macro_values values = {0};
    struct payload_field field;
    struct str rest = facts->body;
    const size_t start = to->n;
    while (payload_next_field(&rest, &unescaped, &field)) {
        enum url_macro macro = MACRO_SIG;
        if (url_macro_parse(field.name, &macro))
            values.of[macro] = field.value;
    }
    add_facts(&values, facts, &more);
    if (url_macros_expand(to, target, &values))
        add_signature(to, start, facts->secret);
    buf_free(&unescaped);
    buf_free(&more);
}

void request_print_target(struct buf *to, struct str target, enum request_format format,
                          const struct request_facts *facts)
{
    const size_t start = to->n;
    if (url_has_macros(target)) {
        replace_macros(to, target, facts);
        return;
    }
    buf_add_str(to, target);
    if (format == REQUEST_GET)
        add_query(to, start, facts);
}

void request_print_url(struct buf *to, struct str url, enum request_format format,
                       const struct request_facts *facts)
{
    struct buf target = {0};
    const size_t begin = url_target_begin(url);
    if (begin == url.n || url.p[begin] != '/')
        buf_add_char(&target, '/');
    buf_add(&target, url.p + begin, url.n - begin);
    buf_add(to, url.p, begin);
    request_print_target(to, buf_str(&target), format, facts);
    buf_free(&target);
}

bool request_has_values(enum request_format format, struct str url)
{
    return format == REQUEST_GET || url_has_macros(url);
}

bool request_is_plain(enum request_format format, struct str url)
{
    return format == REQUEST_JSON && !request_has_values(format, url);
}

bool request_shows_test(enum request_format format, struct str url)
{
    struct str signed_text = url;
    if (url_has_macro(url, MACRO_QUERY_SIGNATURE))
        (void)str_cut(&signed_text, '?');
    else if (format != REQUEST_GET || !url_has_macros(url))
        return true;
    return url_has_macro(signed_text, MACRO_REWARD_ID) || url_has_macro(signed_text, MACRO_IS_TEST);
}

void request_print_body(struct buf *to, enum request_format format, struct str body)
{
    if (format == REQUEST_JSON)
        buf_add_str(to, body);
    else if (format == REQUEST_FORM)
        add_fields(to, body);
}
