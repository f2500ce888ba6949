/* Numbers are only checked, never converted: their text goes to domain/money.h. Strings are the
 * bytes between the quotes unless they hold escapes. */
#include "json/text.h"

#include <stdint.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static size_t digits(struct str text, size_t at)
{
    size_t n = 0;
    while (at + n < text.n && char_is_digit(text.p[at + n]))
        n++;
    return n;
}

bool json_is_number(struct str text)
{
    size_t at = text.n && text.p[0] == '-';
    size_t n = digits(text, at);
    if (n == 0 || (n > 1 && text.p[at] == '0'))
        return false;
    at += n;
    if (at < text.n && text.p[at] == '.') {
        n = digits(text, at + 1);
        if (n == 0)
            return false;
        at += 1 + n;
    }
    if (at < text.n && (text.p[at] == 'e' || text.p[at] == 'E')) {
        at++;
        if (at < text.n && (text.p[at] == '+' || text.p[at] == '-'))
            at++;
        n = digits(text, at);
        if (n == 0)
            return false;
        at += n;
    }
    return at == text.n;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\';
}

/* Whether one of eight bytes may need attention: the classic test for a zero byte, after turning
 * the wanted byte into zero. It may say yes wrongly, never no. */
static bool eight_may_hit(const char *p)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    uint64_t w;
    memcpy(&w, p, 8);
    uint64_t quote = w ^ (ones * '"'), slash = w ^ (ones * '\\');
    uint64_t hit = ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((w - ones * 0x20) & ~w);
    return (hit & highs) != 0;
}

#if defined(__SSE2__)
static unsigned sixteen_hits(const char *p)
{
    __m128i w = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i quote = _mm_cmpeq_epi8(w, _mm_set1_epi8('"'));
    __m128i slash = _mm_cmpeq_epi8(w, _mm_set1_epi8('\\'));
    __m128i control = _mm_cmpeq_epi8(_mm_max_epu8(w, _mm_set1_epi8(0x1f)), _mm_set1_epi8(0x1f));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, slash), control));
}
#endif

/* How many bytes from the start need no attention. */
static size_t plain_prefix(const char *p, size_t n)
{
    size_t i = 0;
#if defined(__SSE2__)
    for (; i + 16 <= n; i += 16) {
        unsigned hits = sixteen_hits(p + i);
        if (hits)
            return i + (unsigned)__builtin_ctz(hits);
    }
#endif
    while (i + 8 <= n && !eight_may_hit(p + i))
        i += 8;
    while (i < n && is_plain((unsigned char)p[i]))
        i++;
    return i;
}

/* Four hex digits at `at`; -1 when they are not there. */
static int32_t hex4(struct str raw, size_t at)
{
    int32_t v = 0;
    if (raw.n < 4 || at > raw.n - 4)
        return -1;
    for (size_t i = 0; i < 4; i++) {
        int h = hex_value(raw.p[at + i]);
        if (h < 0)
            return -1;
        v = v * 16 + h;
    }
    return v;
}

static size_t put_utf8(char *to, int32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | (c >> 6));
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | (c >> 12));
        to[1] = (char)(0x80 | ((c >> 6) & 0x3f));
        to[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | (c >> 18));
    to[1] = (char)(0x80 | ((c >> 12) & 0x3f));
    to[2] = (char)(0x80 | ((c >> 6) & 0x3f));
    to[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

#define REPLACEMENT_CHARACTER 0xfffd

/* The code point of \uXXXX at `at` (the backslash), a surrogate pair included; *ret_used bytes of
 * `raw`; -1 when it is none. */
static int32_t unicode_escape(struct str raw, size_t at, size_t *ret_used,
                              const char **ret_unusable)
{
    int32_t c = hex4(raw, at + 2);
    *ret_used = 6;
    if (c == 0) {
        *ret_unusable = "U+0000 is not allowed";
        return REPLACEMENT_CHARACTER;
    }
    if (c < 0xd800 || c > 0xdfff)
        return c;
    int32_t low = -1;
    if (c <= 0xdbff && at + 7 < raw.n && raw.p[at + 6] == '\\' && raw.p[at + 7] == 'u')
        low = hex4(raw, at + 8);
    if (low < 0xdc00 || low > 0xdfff) {
        *ret_unusable = "a lone surrogate is not allowed";
        return REPLACEMENT_CHARACTER;
    }
    *ret_used = 12;
    return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

/* One escape at raw.p[at], a backslash. */
static const char *escape(struct str raw, size_t at, char *to, size_t *ret_put, size_t *ret_used,
                          const char **ret_unusable)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    char c = at + 1 < raw.n ? raw.p[at + 1] : '\0';
    if (c == 'u') {
        int32_t point = unicode_escape(raw, at, ret_used, ret_unusable);
        if (point < 0)
            return "\\u needs four hexadecimal digits";
        *ret_put = put_utf8(to, point);
        return NULL;
    }
    const char *known = c ? strchr(from, c) : NULL;
    if (!known)
        return "an unknown escape";
    to[0] = into[known - from];
    *ret_put = 1;
    *ret_used = 2;
    return NULL;
}

/* How many bytes stand before the closing quote, or at all; the first `at` need no attention. */
static size_t string_bytes(struct str raw, size_t at)
{
    while (at < raw.n && raw.p[at] != '"') {
        at += raw.p[at] == '\\' ? 2 : 1;
        at += at < raw.n ? plain_prefix(raw.p + at, raw.n - at) : 0;
    }
    return at < raw.n ? at : raw.n;
}

bool json_unescape(struct arena *arena, struct str raw, struct str *ret_value,
                   const char **ret_unusable, const char **ret_why, size_t *ret_at)
{
    *ret_unusable = NULL;
    size_t n = plain_prefix(raw.p, raw.n), at = n;
    if (at < raw.n && raw.p[at] == '"') {
        *ret_value = (struct str){raw.p, n};
        *ret_at = at + 1;
        return true;
    }
    /* An escape is never shorter than what it stands for. */
    char *to = arena_alloc(arena, string_bytes(raw, at) + 1);
    memcpy(to, raw.p, n);
    while (at < raw.n && raw.p[at] != '"') {
        size_t put = 0, used = 0;
        const char *why = raw.p[at] == '\\' ? escape(raw, at, to + n, &put, &used, ret_unusable)
                                            : "a control character in a string is not escaped";
        if (why) {
            *ret_why = why;
            *ret_at = at;
            return false;
        }
        n += put;
        at += used;
        size_t plain = plain_prefix(raw.p + at, raw.n - at);
        memcpy(to + n, raw.p + at, plain);
        n += plain;
        at += plain;
    }
    if (at == raw.n) {
        *ret_why = "a string is not closed";
        *ret_at = at;
        return false;
    }
    *ret_value = (struct str){to, n};
    *ret_at = at + 1;
    return true;
}
