/* Judges a receiver's answer by an app's SuccessAnswer; see success_answer.h.
 *
 * Texts are compared byte for byte, whatever their encoding. JSON values are compared by their
 * text: "1" equals 1, and "true" equals true, because receivers write either; 1 does not equal
 * 1.0. If a member occurs twice, the last one counts, as in most JSON readers. What is wrong with
 * the strings of other members (a lone surrogate, U+0000) does not matter: JSON allows them. A body
 * that was cut off never equals a whole text and is never valid JSON. */
#include "accounts/success_answer.h"

#include "json/reader.h"

#define QUOTED_BYTES_MOST 48 /* of the text and of the answer: the sentence has room for both */

static bool is_white(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct str trim(struct str s)
{
    for (; s.n > 0 && is_white(s.p[0]); s.n--)
        s.p++;
    while (s.n > 0 && is_white(s.p[s.n - 1]))
        s.n--;
    return s;
}

/* A byte order mark, which editors leave in scripts, says nothing. */
static struct str without_mark(struct str body)
{
    const size_t n = 3;
    return str_has_prefix(body, "\xef\xbb\xbf") ? (struct str){body.p + n, body.n - n} : body;
}

const char *success_text_member(enum success_rule rule)
{
    switch (rule) {
    case SUCCESS_BODY: return "Body";
    case SUCCESS_CONTAINS: return "Contains";
    case SUCCESS_FIELD: return "Value";
    case SUCCESS_ANY: break;
    }
    UNREACHABLE();
}

bool success_text_valid(struct str text, const char **ret_why)
{
    if (trim(text).n > 0)
        return true;
    *ret_why = "must hold more than white space";
    return false;
}

bool success_field_valid(struct str field, const char **ret_why)
{
    for (size_t i = 0; field.p[0] == '/' && i < field.n; i++) {
        char next = i + 1 < field.n ? field.p[i + 1] : '\0';
        if (field.p[i] != '~' || next == '0' || next == '1')
            continue;
        *ret_why = "is no JSON Pointer: in one, ~ is written ~0 and a slash in a name ~1";
        return false;
    }
    return true;
}

/* --- the sentence --------------------------------------------------------------------------- */

static void quote(struct buf *to, struct str text)
{
    struct str shown = text.n > QUOTED_BYTES_MOST ? str_utf8_prefix(text, QUOTED_BYTES_MOST) : text;
    buf_add_char(to, '"');
    buf_add_str(to, shown);
    buf_add_c(to, shown.n < text.n ? "...\"" : "\"");
}

/* Adds the body's beginning after the clause that says what is wrong. */
static void quote_beginning(struct buf *to, struct str body)
{
    if (str_has_prefix(body, "\x1f\x8b")) {
        buf_add_c(to, ": it is compressed (gzip), which was not asked for");
        return;
    }
    buf_add_c(to, ": it begins with ");
    quote(to, body);
}

/* --- a field --------------------------------------------------------------------------------- */

/* True if an escaped part of a pointer names the member. */
static bool is_named(struct str name, struct str part)
{
    size_t at = 0;
    for (size_t i = 0; i < part.n; i++, at++) {
        char c = part.p[i];
        if (c == '~' && i + 1 < part.n)
            c = part.p[++i] == '0' ? '~' : '/';
        if (at >= name.n || name.p[at] != c)
            return false;
    }
    return at == name.n;
}

/* An element by its index; NULL: the part is no index, or the array is shorter. */
static const struct json *element(const struct json *array, struct str part)
{
    uint64_t index;
    if (part.n > 6 || !str_parse_uint(part, SIZE_MAX, &index) || (part.n > 1 && part.p[0] == '0'))
        return NULL;
    const struct json *v = array->first;
    while (v && index-- > 0)
        v = v->next;
    return v;
}

static const struct json *step(const struct json *from, struct str part)
{
    if (from->type == JSON_ARRAY)
        return element(from, part);
    if (from->type != JSON_OBJECT)
        return NULL;
    const struct json *last = NULL;
    for (const struct json *v = from->first; v; v = v->next)
        if (is_named(v->name, part))
            last = v;
    return last;
}

static const struct json *find(const struct json *root, struct str field)
{
    if (field.p[0] != '/') {
        const struct json *last = NULL;
        for (const struct json *v = root->type == JSON_OBJECT ? root->first : NULL; v; v = v->next)
            if (str_eq(v->name, field))
                last = v;
        return last;
    }
    struct str rest = {field.p + 1, field.n - 1};
    const struct json *v = root;
    while (v && rest.p)
        v = step(v, str_cut(&rest, '/'));
    return v;
}

/* Absent for what has none. */
static struct str text_of(const struct json *v)
{
    switch (v->type) {
    case JSON_NULL: return STR("null");
    case JSON_FALSE: return STR("false");
    case JSON_TRUE: return STR("true");
    case JSON_NUMBER:
    case JSON_STRING: return v->text;
    case JSON_ARRAY:
    case JSON_OBJECT: break;
    }
    return STR_NONE;
}

static bool judge_value(const struct success_answer *s, const struct json *v, struct buf *ret_why)
{
    struct str text = v ? text_of(v) : STR_NONE;
    const char *unusable = v ? v->unusable : NULL; /* the text read differs from the text sent */
    if (!unusable && str_eq(text, s->text))
        return true;
    buf_add_c(ret_why, "its field ");
    quote(ret_why, s->field);
    if (!v)
        buf_add_c(ret_why, " is missing");
    else if (unusable)
        buf_printf(ret_why, " has a value that cannot be compared: %s", unusable);
    else if (!text.p)
        buf_add_c(ret_why, v->type == JSON_ARRAY ? " is an array" : " is an object");
    else {
        buf_add_c(ret_why, " is ");
        quote(ret_why, text);
    }
    if (v && !unusable) {
        buf_add_c(ret_why, ", not ");
        quote(ret_why, s->text);
    }
    return false;
}

static bool judge_field(const struct success_answer *s, struct str body, bool is_cut,
                        struct buf *ret_why)
{
    struct arena arena = {0};
    struct json *root = NULL;
    struct str why = STR_NONE;
    bool good = false;
    if (!is_cut && json_parse_answer(&arena, body, &root, &why)) {
        good = judge_value(s, find(root, s->field), ret_why);
    } else {
        buf_add_c(ret_why,
                  is_cut ? "what was read of its body is no whole JSON" : "its body is no JSON");
        quote_beginning(ret_why, body);
    }
    arena_free(&arena);
    return good;
}

/* --- all of them ------------------------------------------------------------------------------ */

static bool judge_body(const struct success_answer *s, struct str body, bool is_cut,
                       struct buf *ret_why)
{
    bool same = str_eq(trim(body), trim(s->text));
    if (same && !is_cut)
        return true;
    if (same) {
        buf_add_c(ret_why, "its body did not end behind ");
        quote(ret_why, s->text);
        return false;
    }
    buf_add_c(ret_why, "its body is not ");
    quote(ret_why, s->text);
    quote_beginning(ret_why, body);
    return false;
}

static bool judge_part(const struct success_answer *s, struct str body, struct buf *ret_why)
{
    if (memmem(body.p, body.n, s->text.p, s->text.n))
        return true;
    buf_add_c(ret_why, "its body does not contain ");
    quote(ret_why, s->text);
    quote_beginning(ret_why, body);
    return false;
}

bool success_answer_judge(const struct success_answer *s, struct str body, bool is_cut,
                          struct buf *ret_why)
{
    struct str seen = without_mark(body);
    if (s->rule == SUCCESS_ANY)
        return true;
    if (seen.n == 0) {
        buf_add_c(ret_why, is_cut ? "its body did not come" : "without a body");
        return false;
    }
    switch (s->rule) {
    case SUCCESS_BODY: return judge_body(s, seen, is_cut, ret_why);
    case SUCCESS_CONTAINS: return judge_part(s, seen, ret_why);
    case SUCCESS_FIELD: return judge_field(s, seen, is_cut, ret_why);
    case SUCCESS_ANY: break;
    }
    UNREACHABLE();
}
