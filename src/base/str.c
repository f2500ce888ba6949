/* Operations on borrowed byte runs. */
#include "base/str.h"

#include <strings.h>

int str_cmp(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int d = n ? memcmp(a.p, b.p, n) : 0;
    if (d)
        return d;
    return (a.n > b.n) - (a.n < b.n);
}

bool str_has_prefix(struct str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.n >= n && memcmp(s.p, prefix, n) == 0;
}

size_t str_index_of(struct str s, const char *const *names, size_t count)
{
    size_t i = 0;
    while (i < count && !(names[i] && str_is(s, names[i])))
        i++;
    return i;
}

bool str_eq_nocase(struct str a, const char *literal)
{
    return a.p && a.n == strlen(literal) && strncasecmp(a.p, literal, a.n) == 0;
}

bool str_take_percent(struct str *text, char *ret)
{
    bool is_whole = text->n >= 3 && text->p[0] == '%';
    int high = is_whole ? hex_value(text->p[1]) : -1, low = is_whole ? hex_value(text->p[2]) : -1;
    if (high < 0 || low < 0)
        return false;
    *ret = (char)(high << 4 | low);
    *text = (struct str){text->p + 3, text->n - 3};
    return true;
}

struct str str_cut(struct str *rest, char sep)
{
    if (!rest->p)
        return STR_NONE;
    const char *at = rest->n ? memchr(rest->p, sep, rest->n) : NULL;
    struct str head = *rest;
    if (!at) {
        *rest = STR_NONE;
        return head;
    }
    head.n = (size_t)(at - rest->p);
    *rest = (struct str){at + 1, rest->n - head.n - 1};
    return head;
}

bool str_parse_uint(struct str s, uint64_t most, uint64_t *ret)
{
    uint64_t value = 0;
    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(s.p[i] - '0');
        if (digit > most || value > (most - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

struct str str_trim(struct str s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t')) {
        s.p++;
        s.n--;
    }
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

struct str str_trim_end(struct str s, char c)
{
    while (s.n && s.p[s.n - 1] == c)
        s.n--;
    return s;
}

struct str str_utf8_prefix(struct str s, size_t most_bytes)
{
    if (s.n <= most_bytes)
        return s;
    s.n = most_bytes;
    while (s.n && ((unsigned char)s.p[s.n] & 0xc0) == 0x80)
        s.n--;
    return s;
}

/* The length of the valid sequence at p (1..4), or 0. RFC 3629, section 4. */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
    if (p[0] < 0x80)
        return 1;
    size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || left < n)
        return 0;
    unsigned char low = 0x80, high = 0xbf;
    if (p[0] == 0xe0)
        low = 0xa0;
    if (p[0] == 0xed)
        high = 0x9f;
    if (p[0] == 0xf0)
        low = 0x90;
    if (p[0] == 0xf4)
        high = 0x8f;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

size_t str_utf8_sequence(struct str s, size_t at)
{
    return utf8_sequence((const unsigned char *)s.p + at, s.n - at);
}

bool str_is_utf8(struct str s)
{
    const uint64_t highs = UINT64_C(0x8080808080808080);
    for (size_t i = 0; i < s.n;) {
        uint64_t eight;
        if (s.n - i >= sizeof eight) {
            memcpy(&eight, s.p + i, sizeof eight);
            if (!(eight & highs)) { /* most text is ASCII */
                i += sizeof eight;
                continue;
            }
        }
        size_t n = str_utf8_sequence(s, i);
        if (!n)
            return false;
        i += n;
    }
    return true;
}
