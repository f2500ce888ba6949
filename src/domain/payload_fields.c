/* Parses what payload.c prints, and no other JSON: one flat object, minified, names without
 * escapes, \u only for control characters. Anything else ends the parsing. */
#include "domain/payload_fields.h"

static char at(const struct str *rest)
{
    return rest->n ? rest->p[0] : '\0';
}

static void skip(struct str *rest, size_t n)
{
    rest->p += n;
    rest->n -= n;
}

/* \u001f: all escaped characters of the body are below U+0020. */
static bool take_control(struct str *rest, char *ret_c)
{
    unsigned value = 0;
    if (rest->n < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(rest->p[i]);
        if (digit < 0)
            return false;
        value = value * 16 + (unsigned)digit;
    }
    skip(rest, 4);
    *ret_c = (char)value;
    return value < 0x20;
}

static bool take_escaped(struct str *rest, char *ret_c)
{
    static const char names[] = "\"\\bfnrt", values[] = "\"\\\b\f\n\r\t";
    char c = at(rest);
    const char *name = c ? strchr(names, c) : NULL;
    if (rest->n)
        skip(rest, 1);
    if (c == 'u')
        return take_control(rest, ret_c);
    if (name)
        *ret_c = values[name - names];
    return name != NULL;
}

/* After the opening quote. */
static bool take_string(struct str *rest, struct buf *room, struct str *ret)
{
    struct str raw = {rest->p, 0};
    size_t start = room->n;
    bool is_escaped = false;
    while (rest->n && at(rest) != '"') {
        char c = at(rest);
        skip(rest, 1);
        if (c == '\\') {
            if (!is_escaped)
                buf_add(room, raw.p, (size_t)(rest->p - 1 - raw.p));
            is_escaped = true;
            if (!take_escaped(rest, &c))
                return false;
            buf_add_char(room, c);
        } else if (is_escaped) {
            buf_add_char(room, c);
        }
    }
    raw.n = (size_t)(rest->p - raw.p);
    if (!rest->n)
        return false;
    skip(rest, 1);
    *ret = is_escaped ? (struct str){room->p + start, room->n - start} : raw;
    return true;
}

static void take_word(struct str *rest, struct str *ret)
{
    *ret = (struct str){rest->p, 0};
    while (rest->n && at(rest) != ',' && at(rest) != '}')
        skip(rest, 1);
    ret->n = (size_t)(rest->p - ret->p);
    if (str_is(*ret, "null"))
        ret->n = 0;
}

bool payload_next_field(struct str *rest, struct buf *room, struct payload_field *ret_field)
{
    struct payload_field field = {0};
    if (rest->n < 2 || (at(rest) != '{' && at(rest) != ',') || rest->p[1] != '"')
        return false;
    if (at(rest) == '{')
        buf_reserve(room, rest->n); /* unescaping never makes a text longer */
    skip(rest, 2);
    const size_t before = room->n;
    if (!take_string(rest, room, &field.name) || room->n != before || at(rest) != ':')
        return false;
    skip(rest, 1);
    if (at(rest) == '"') {
        skip(rest, 1);
        if (!take_string(rest, room, &field.value))
            return false;
    } else {
        take_word(rest, &field.value);
    }
    *ret_field = field;
    return true;
}
