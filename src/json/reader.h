/* Strict JSON in (RFC 8259): valid UTF-8, no lone surrogates, no U+0000 in strings, no trailing
 * bytes, bounded depth. Numbers keep their exact text. Object members keep their order and
 * repeats: the caller decides what a repeat means.
 *
 * A document is a flat tree in the caller's arena; strings are unescaped copies or borrow the
 * input, so the input must outlive the tree. */
#pragma once

#include "base/arena.h"
#include "base/check.h"

enum json_type {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

struct json {
    enum json_type type;
    uint32_t count;     /* members of an object, elements of an array */
    struct str name;    /* within an object */
    struct str text;    /* string: unescaped; number, array, object: as it stands in the input */
    struct json *first; /* array, object */
    struct json *next;  /* within its parent */
    /* json_parse_items and _answer only: why the name or the string may not be kept (U+0000, a lone
     * surrogate), which is then U+FFFD in its place; else NULL. */
    const char *unusable;
};

/* On failure *ret_why is a sentence with the place where one is known; owned by the arena. */
MUST_CHECK bool json_parse(struct arena *arena, struct str text, struct json **ret_value,
                           struct str *ret_why);
/* The same for many items in one text, of which a bad one must not cost the good ones: strings that
 * JSON allows and we do not are marked `unusable` instead of failing the whole. */
MUST_CHECK bool json_parse_items(struct arena *arena, struct str text, struct json **ret_value,
                                 struct str *ret_why);

/* For what others answer, of which one member matters: as json_parse_items, and it may be nested as
 * deeply as LIMIT_JSON_DEPTH_OF_ANSWER. */
MUST_CHECK bool json_parse_answer(struct arena *arena, struct str text, struct json **ret_value,
                                  struct str *ret_why);

/* The first member of that name; NULL when there is none or `object` is none. */
const struct json *json_member(const struct json *object, const char *name);
/* Its text where it is a string or a number; else absent. */
struct str json_member_text(const struct json *object, const char *name);
/* Whether it is there and true. */
bool json_member_is_true(const struct json *object, const char *name);
/* Its value where it is a whole number within [least, most]; else *good becomes false. */
int64_t json_member_int(const struct json *object, const char *name, int64_t least, int64_t most,
                        bool *good);
/* The name of a member that stands twice in the object, or absent. */
struct str json_repeated_member(const struct json *object);
