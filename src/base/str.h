/* A borrowed run of bytes. `p == NULL` means absent; `p != NULL, n == 0` is an empty value. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *p;
    size_t n;
};

#define STR(literal) ((struct str){"" literal "", sizeof(literal) - 1})
#define STR_NONE ((struct str){NULL, 0})
/* A numeric constant as a string literal, for texts that name a limit, and for SQL. */
#define NUMBER_AS_TEXT(constant) NUMBER_TEXT_OF(constant)
#define NUMBER_TEXT_OF(number) #number
/* For printf("%.*s"). */
#define STR_ARG(s) (int)(s).n, ((s).p ? (s).p : "")

static inline struct str str_of(const char *c)
{
    return (struct str){c, c ? strlen(c) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
    if (a.p == NULL || b.p == NULL)
        return a.p == b.p;
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

static inline bool str_is(struct str a, const char *literal)
{
    return a.p && a.n == strlen(literal) && memcmp(a.p, literal, a.n) == 0;
}

/* For libraries whose parameters lack a const although they only read. */
static inline void *str_bytes(const char *p)
{
    union {
        const char *p;
        void *bytes;
    } of = {.p = p};
    return of.bytes;
}

/* True if the set has the character. strchr() would also find '\0', at the end of every set. */
static inline bool char_in(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* ASCII only, in any locale. */
static inline bool char_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline char char_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline bool char_is_letter_or_digit(char c)
{
    return char_is_digit(c) || (char_lower(c) >= 'a' && char_lower(c) <= 'z');
}

/* The value of a hexadecimal digit, either case; -1: it is none. */
static inline int hex_value(char c)
{
    if (char_is_digit(c))
        return c - '0';
    c = char_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Prints n bytes as 2n digits in lower case, without a NUL. */
static inline void hex_print(char *to, const void *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++) {
        to[2 * i] = digits[p[i] >> 4];
        to[2 * i + 1] = digits[p[i] & 15];
    }
}

/* Removes a percent-encoded byte (RFC 3986, 2.1) from the front. False: there is none, and nothing
 * is removed. */
bool str_take_percent(struct str *text, char *ret);

/* Compares bytes; of a text and its prefix, the prefix is first. */
int str_cmp(struct str a, struct str b);
bool str_has_prefix(struct str s, const char *prefix);
/* The index of the name that equals the text; `count`: none. A NULL among the names is skipped. */
size_t str_index_of(struct str s, const char *const *names, size_t count);
bool str_eq_nocase(struct str a, const char *literal); /* ASCII case only */

/* Removes the part before the first `sep` and `sep` from `*rest`, and returns the part. Without a
 * `sep` it returns all, and `*rest` becomes absent. */
struct str str_cut(struct str *rest, char sep);
struct str str_trim(struct str s);             /* ASCII space and tab at both ends */
struct str str_trim_end(struct str s, char c); /* without trailing characters c */

/* Parses a decimal number: only digits, at least one, leading zeros allowed. False: it is none, or
 * is above `most`. */
bool str_parse_uint(struct str s, uint64_t most, uint64_t *ret);

/* The longest prefix of valid UTF-8 text that has at most that many bytes and splits no character:
 * for showing long texts. */
struct str str_utf8_prefix(struct str s, size_t most_bytes);

/* Valid UTF-8 (RFC 3629: no overlong forms, no surrogates, up to U+10FFFF). */
bool str_is_utf8(struct str s);
/* The length of the character at s.p[at] (1..4); 0: no valid one begins there. */
size_t str_utf8_sequence(struct str s, size_t at);
