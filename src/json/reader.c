/* The strict walk over the tokens that structure.h found: every token is visited once, so nothing
 * malformed can hide in a part nobody asks for. Each value checks its own text; commas, colons
 * and brackets are checked where they must stand; what is left over at the end is a fault.
 *
 * A token reaches from its place to the next one; between them simdjson saw only white space or
 * the rest of the token, so a token without its trailing white space must be wholly a number, a
 * word or a quoted string. */
#include "json/reader.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/limits.h"
#include "json/structure.h"
#include "json/text.h"

#include <stdlib.h>

#define PARSER_MAGIC 0x4a50a125u
#define NODES_AT_ONCE 64

struct json_parser {
    uint32_t magic;
    struct structure *structure;
};

struct json_walk {
    struct arena *arena;
    struct str text;
    const uint32_t *places;
    uint32_t count, next; /* places; the one to be looked at */
    bool marks_unusable;  /* else such a string is a fault */
    uint32_t values;      /* so far */
    struct json *nodes;   /* unused ones */
    size_t nodes_left;
    const char *why; /* the fault, a literal */
    size_t why_at;
};

struct json_parser *json_parser_new(void)
{
    struct json_parser *parser = xcalloc(1, sizeof *parser);
    parser->magic = PARSER_MAGIC;
    parser->structure = structure_new();
    ASSERT(parser->structure != NULL);
    return parser;
}

void json_parser_free(struct json_parser *parser)
{
    if (!parser)
        return;
    CHECK_MAGIC(parser, PARSER_MAGIC);
    structure_free(parser->structure);
    parser->magic = 0;
    free(parser);
}

static bool fault(struct json_walk *w, const char *why, size_t at)
{
    w->why = why;
    w->why_at = at;
    return false;
}

static size_t place(const struct json_walk *w)
{
    return w->next < w->count ? w->places[w->next] : w->text.n;
}

/* The byte the next token begins with; NUL at the end (and for a NUL, which begins no token). */
static char peek(const struct json_walk *w)
{
    size_t at = place(w);
    return at < w->text.n ? w->text.p[at] : '\0';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static struct str token(const struct json_walk *w)
{
    size_t from = place(w);
    size_t to = w->next + 1 < w->count ? w->places[w->next + 1] : w->text.n;
    while (to > from && is_space(w->text.p[to - 1]))
        to--;
    return (struct str){w->text.p + from, to - from};
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
    struct str quoted = token(w);
    size_t at = 0;
    const char *why = NULL, *unusable = NULL;
    if (quoted.n < 2 || quoted.p[quoted.n - 1] != '"')
        return fault(w, "a string is followed by something else", place(w));
    if (!json_unescape(w->arena, (struct str){quoted.p + 1, quoted.n - 2}, ret, &unusable, &why,
                       &at))
        return fault(w, why, place(w) + 1 + at);
    if (unusable && !w->marks_unusable)
        return fault(w, unusable, place(w));
    if (unusable)
        node->unusable = unusable;
    w->next++;
    return true;
}

static bool walk_word(struct json_walk *w, struct json *node, enum json_type type, const char *word)
{
    if (!str_is(token(w), word))
        return fault(w, "not a JSON value", place(w));
    node->type = type;
    w->next++;
    return true;
}

static bool walk_number(struct json_walk *w, struct json *node)
{
    node->type = JSON_NUMBER;
    node->text = token(w);
    if (!json_is_number(node->text))
        return fault(w, "not a JSON number", place(w));
    w->next++;
    return true;
}

static bool walk_value(struct json_walk *w, struct json *node, int depth);

static bool walk_member_name(struct json_walk *w, struct json *node)
{
    if (peek(w) != '"')
        return fault(w, "a member's name in quotes is missing", place(w));
    if (!walk_text(w, node, &node->name))
        return false;
    if (peek(w) != ':')
        return fault(w, "':' is missing", place(w));
    w->next++;
    return true;
}

/* What stands between the brackets of an array or object, and the closing one. */
static bool walk_inside(struct json_walk *w, struct json *parent, char close, int depth)
{
    if (depth > LIMIT_JSON_DEPTH)
        return fault(w, "nested too deeply", place(w));
    w->next++;
    struct json **link = &parent->first;
    if (peek(w) == close) {
        w->next++;
        return true;
    }
    for (;;) {
        if (++w->values > LIMIT_JSON_VALUES)
            return fault(w, "there are more values than one text may have", place(w));
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
                         place(w));
        w->next++;
        if (c == close)
            return true;
    }
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
    default: return fault(w, "a value is missing", place(w));
    }
}

static const char *structure_sentence(enum structure_fault f)
{
    switch (f) {
    case STRUCTURE_OK: break;
    case STRUCTURE_EMPTY: return "there is no JSON value";
    case STRUCTURE_UTF8: return "the text is not valid UTF-8";
    case STRUCTURE_UNCLOSED_STRING: return "a string is not closed";
    case STRUCTURE_CONTROL_CHARACTER: return "a control character in a string is not escaped";
    case STRUCTURE_FAILED: return "the text is too large";
    }
    UNREACHABLE();
}

static bool parse(struct json_parser *parser, struct arena *arena, struct str text,
                  bool marks_unusable, struct json **ret_value, struct str *ret_why)
{
    CHECK_MAGIC(parser, PARSER_MAGIC);
    struct json_walk w = {.arena = arena, .text = text, .marks_unusable = marks_unusable};
    enum structure_fault f = structure_find(parser->structure, text, &w.places, &w.count);
    if (f != STRUCTURE_OK) {
        *ret_why = str_of(structure_sentence(f));
        return false;
    }
    struct json *root = new_node(&w);
    if (walk_value(&w, root, 0) && w.next < w.count)
        fault(&w, "something follows the value", place(&w));
    if (w.why) {
        struct buf why = {0};
        buf_printf(&why, "%s at byte %zu", w.why, w.why_at);
        *ret_why = arena_str(arena, buf_str(&why));
        buf_free(&why);
        return false;
    }
    *ret_value = root;
    return true;
}

bool json_parse(struct json_parser *parser, struct arena *arena, struct str text,
                struct json **ret_value, struct str *ret_why)
{
    return parse(parser, arena, text, false, ret_value, ret_why);
}

bool json_parse_items(struct json_parser *parser, struct arena *arena, struct str text,
                      struct json **ret_value, struct str *ret_why)
{
    return parse(parser, arena, text, true, ret_value, ret_why);
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
