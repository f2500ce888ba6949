/* See plain_text.h. */
#include "base/plain_text.h"

static uint32_t code_point(const char *p, size_t n)
{
    uint32_t c = (uint8_t)p[0];
    if (n > 1)
        c &= 0x7Fu >> n;
    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((uint8_t)p[i] & 0x3Fu);
    return c;
}

static bool is_plain(uint32_t c)
{
    if (c < 0x20 || (c >= 0x7F && c <= 0x9F))
        return false;
    return c != 0x061C && c != 0x200E && c != 0x200F && !(c >= 0x2028 && c <= 0x202E) &&
           !(c >= 0x2066 && c <= 0x2069);
}

void plain_text_print(struct buf *to, struct str text)
{
    for (size_t at = 0; at < text.n;) {
        size_t n = str_utf8_sequence(text, at);
        if (n && is_plain(code_point(text.p + at, n)))
            buf_add(to, text.p + at, n);
        else
            buf_add_char(to, ' ');
        at += n ? n : 1;
    }
}
