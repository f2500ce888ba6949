/* The growing byte buffer behind everything that is printed, encoded or received. */
#include "base/buf.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

void buf_free(struct buf *b)
{
    free(b->p);
    *b = (struct buf){0};
}

char *buf_grow(struct buf *b, size_t more)
{
    b->p = xgrow(b->p, &b->capacity, b->n + more + 1, 1);
    return b->p + b->n;
}

void buf_add_int(struct buf *b, int64_t v)
{
    char digits[20];
    size_t at = sizeof digits;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        digits[--at] = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (v < 0)
        digits[--at] = '-';
    buf_add(b, digits + at, sizeof digits - at);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    ASSERT(n >= 0);
    char *to = buf_reserve(b, (size_t)n);
    vsnprintf(to, (size_t)n + 1, fmt, again);
    b->n += (size_t)n;
    va_end(again);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

char *xprintf(const char *fmt, ...)
{
    struct buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    char *text = xstrdup(buf_c(&b));
    buf_free(&b);
    return text;
}

void buf_consume(struct buf *b, size_t n)
{
    ASSERT(n <= b->n);
    if (n == 0)
        return; /* an empty buffer has no memory to move */
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
}

const char *buf_c(struct buf *b)
{
    *buf_reserve(b, 1) = '\0';
    return b->p;
}
