/* Numbers of variable length: see numbers.h. */
#include "store/packed/numbers.h"

void number_put(struct buf *to, uint64_t v)
{
    char *at = buf_reserve(to, 10);
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        at[n++] = (char)(v | 0x80);
    at[n++] = (char)v;
    to->n += n;
}

void number_put_signed(struct buf *to, int64_t v)
{
    number_put(to, v < 0 ? ~((uint64_t)v << 1) : (uint64_t)v << 1);
}

struct number_reader number_reader_of(struct str bytes)
{
    const unsigned char *at = (const unsigned char *)bytes.p;
    return (struct number_reader){at, at + bytes.n, false};
}

uint64_t number_get(struct number_reader *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && r->at < r->end; shift += 7) {
        unsigned byte = *r->at++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
    r->bad = true;
    return 0;
}

int64_t number_get_signed(struct number_reader *r)
{
    uint64_t v = number_get(r);
    return (int64_t)(v & 1 ? ~(v >> 1) : v >> 1);
}

struct str number_get_bytes(struct number_reader *r, uint64_t n)
{
    if (r->bad || n > (size_t)(r->end - r->at)) {
        r->bad = true;
        return (struct str){"", 0};
    }
    struct str bytes = {(const char *)r->at, (size_t)n};
    r->at += n;
    return bytes;
}
