/* The strict walk over a text: every byte is visited once, so nothing malformed can hide in a part
 * nobody asks for. Each value checks its own text; commas, colons and brackets are checked where
 * they must stand; what is left over at the end is a fault. */
#include "json/reader.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/limits.h"
#include "json/text.h"

#include <stdlib.h>

#define NODES_AT_ONCE 64

#define DEEPER_THAN(limit) "nested more than " NUMBER_AS_TEXT(limit) " levels deep"

struct json_walk {
    struct arena *arena;
    struct str text;
    size_t at;           /* the byte to be looked at */
    bool marks_unusable; /* else such a string is a fault */
    int depth_most;
    uint32_t values;    /* so far */
    struct json *nodes; /* unused ones */
    size_t nodes_left;
    const char *why; /* the fault, a literal */
    size_t why_at;
};

static bool fault(struct json_walk *w, const char *why, size_t at)
{
    w->why = why;
    w->why_at = at;
    return false;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The byte the next token begins with; NUL at the end (and for a NUL, which begins no token). */
static char peek(struct json_walk *w)
{
    while (w->at < w->text.n && is_space(w->text.p[w->at]))
        w->at++;
    return w->at < w->text.n ? w->text.p[w->at] : '\0';
}

static bool is_part_of_word(char c)
{
    return char_is_letter_or_digit(c) || c == '.' || c == '-' || c == '+';
}

/* A number or a word, or what stands in the place of one. */
static struct str word(const struct json_walk *w)
{
    size_t n = 1;
    while (w->at + n < w->text.n && is_part_of_word(w->text.p[w->at + n]))
        n++;
    return (struct str){w->text.p + w->at, n};
}

static struct json *new_node(struct json_walk *w)
{
    if (w->nodes_left == 0) {
        w->nodes = arena_alloc(w->arena, NODES_AT_ONCE * sizeof *w->nodes);
        w->nodes_left = NODES_AT_ONCE;
    }
    w->nodes_left--;
    struct json *node = w->nodes++;
    *node = (struct json){0};
    return node;
}

static bool walk_text(struct json_walk *w, struct json *node, struct str *ret)
{
    struct str rest = {w->text.p + w->at + 1, w->text.n - w->at - 1};
    size_t at = 0;
    const char *why = NULL, *unusable = NULL;
    if (!json_unescape(w->arena, rest, ret, &unusable, &why, &at))
        return fault(w, why, w->at + 1 + at);
    if (unusable && !w->marks_unusable)
        return fault(w, unusable, w->at);
    if (unusable)
        node->unusable = unusable;
    w->at += 1 + at;
    return true;
}

static bool walk_word(struct json_walk *w, struct json *node, enum json_type type, const char *is)
{
    struct str found = word(w);
    if (!str_is(found, is))
        return fault(w, "not a JSON value", w->at);
    node->type = type;
    w->at += found.n;
    return true;
}

static bool walk_number(struct json_walk *w, struct json *node)
{
    node->type = JSON_NUMBER;
    node->text = word(w);
    if (!json_is_number(node->text))
        return fault(w, "not a JSON number", w->at);
    w->at += node->text.n;
    return true;
}

static bool walk_value(struct json_walk *w, struct json *node, int depth);

static bool walk_member_name(struct json_walk *w, struct json *node)
{
    if (peek(w) != '"')
        return fault(w, "a member's name in quotes is missing", w->at);
    if (!walk_text(w, node, &node->name))
        return false;
    if (peek(w) != ':')
        return fault(w, "':' is missing", w->at);
    w->at++;
    return true;
}

/* What stands between the brackets of an array or object, and the closing one. */
static bool walk_members(struct json_walk *w, struct json *parent, char close, int depth)
{
    if (depth > w->depth_most)
        return fault(w,
                     w->depth_most == LIMIT_JSON_DEPTH ? DEEPER_THAN(LIMIT_JSON_DEPTH)
                                                       : DEEPER_THAN(LIMIT_JSON_DEPTH_OF_ANSWER),
                     w->at);
    w->at++;
    struct json **link = &parent->first;
    if (peek(w) == close) {
        w->at++;
        return true;
    }
    for (;;) {
        if (++w->values > LIMIT_JSON_VALUES)
            return fault(w, "there are more than " NUMBER_AS_TEXT(LIMIT_JSON_VALUES) " values",
                         w->at);
        struct json *node = new_node(w);
        if (parent->type == JSON_OBJECT && !walk_member_name(w, node))
            return false;
        if (!walk_value(w, node, depth))
            return false;
        *link = node;
        link = &node->next;
        parent->count++;
        char c = peek(w);
        if (c != ',' && c != close)
            return fault(w, close == '}' ? "',' or '}' is missing" : "',' or ']' is missing",
                         w->at);
        w->at++;
        if (c == close)
            return true;
    }
}

static bool walk_inside(struct json_walk *w, struct json *parent, char close, int depth)
{
    size_t begin = w->at;
    if (!walk_members(w, parent, close, depth))
        return false;
    parent->text = (struct str){w->text.p + begin, w->at - begin};
    return true;
}

static bool walk_value(struct json_walk *w, struct json *node, int depth)
{
    switch (peek(w)) {
    case '{': node->type = JSON_OBJECT; return walk_inside(w, node, '}', depth + 1);
    case '[': node->type = JSON_ARRAY; return walk_inside(w, node, ']', depth + 1);
    case '"': node->type = JSON_STRING; return walk_text(w, node, &node->text);
    case 't': return walk_word(w, node, JSON_TRUE, "true");
    case 'f': return walk_word(w, node, JSON_FALSE, "false");
    case 'n': return walk_word(w, node, JSON_NULL, "null");
    case '-':
    case '0' ... '9': return walk_number(w, node);
    default: return fault(w, "a value is missing", w->at);
    }
}

static bool parse(struct arena *arena, struct str text, bool marks_unusable, int depth_most,
                  struct json **ret_value, struct str *ret_why)
{
    struct json_walk w = {
        .arena = arena, .text = text, .marks_unusable = marks_unusable, .depth_most = depth_most};
    if (!str_is_utf8(text)) {
        *ret_why = str_of("the text is not valid UTF-8");
        return false;
    }
    if (str_has_prefix(text, "\xef\xbb\xbf")) {
        *ret_why = str_of("the text begins with a byte order mark (EF BB BF), which JSON does not "
                          "have: leave these 3 bytes out");
        return false;
    }
    (void)peek(&w);
    if (w.at == text.n) {
        *ret_why = str_of("there is no JSON value");
        return false;
    }
    struct json *root = new_node(&w);
    if (walk_value(&w, root, 0) && (peek(&w) != '\0' || w.at < text.n))
        fault(&w, "something follows the value", w.at);
    if (w.why) {
        *ret_why = arena_print(arena, "%s at byte %zu", w.why, w.why_at);
        return false;
    }
    *ret_value = root;
    return true;
}

bool json_parse(struct arena *arena, struct str text, struct json **ret_value, struct str *ret_why)
{
    return parse(arena, text, false, LIMIT_JSON_DEPTH, ret_value, ret_why);
}

bool json_parse_items(struct arena *arena, struct str text, struct json **ret_value,
                      struct str *ret_why)
{
    return parse(arena, text, true, LIMIT_JSON_DEPTH, ret_value, ret_why);
}

bool json_parse_answer(struct arena *arena, struct str text, struct json **ret_value,
                       struct str *ret_why)
{
    return parse(arena, text, true, LIMIT_JSON_DEPTH_OF_ANSWER, ret_value, ret_why);
}

const struct json *json_member(const struct json *object, const char *name)
{
    if (!object || object->type != JSON_OBJECT)
        return NULL;
    for (const struct json *m = object->first; m; m = m->next)
        if (str_is(m->name, name))
            return m;
    return NULL;
}

struct str json_member_text(const struct json *object, const char *name)
{
    const struct json *m = json_member(object, name);
    return m && (m->type == JSON_STRING || m->type == JSON_NUMBER) ? m->text : STR_NONE;
}

bool json_member_is_true(const struct json *object, const char *name)
{
    const struct json *m = json_member(object, name);
    return m && m->type == JSON_TRUE;
}

int64_t json_member_int(const struct json *object, const char *name, int64_t least, int64_t most,
                        bool *good)
{
    const struct json *m = json_member(object, name);
    char text[24] = "";
    if (m && m->type == JSON_NUMBER && m->text.n < sizeof text)
        memcpy(text, m->text.p, m->text.n);
    char *end;
    long long v = strtoll(text, &end, 10);
    if (!text[0] || *end || v < least || v > most)
        *good = false;
    return *good ? v : 0;
}

static int compare_names(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Sorted, so that an object of a million members is no way to keep a thread busy. */
struct str json_repeated_member(const struct json *object)
{
    struct str found = STR_NONE;
    if (!object || object->type != JSON_OBJECT || object->count < 2)
        return found;
    struct str *names = xmalloc(object->count * sizeof *names);
    size_t n = 0;
    for (const struct json *m = object->first; m; m = m->next)
        names[n++] = m->name;
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 1; i < n && !found.p; i++)
        if (str_eq(names[i - 1], names[i]))
            found = names[i];
    free(names);
    return found;
}
