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

char *buf_reserve(struct buf *b, size_t more)
{
    if (b->n < b->capacity && more < b->capacity - b->n) /* and one byte behind it */
        return b->p + b->n;
    b->p = xgrow(b->p, &b->capacity, b->n + more + 1, 1);
    return b->p + b->n;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    char *to = buf_reserve(b, n);
    if (n)
        memcpy(to, p, n);
    b->n += n;
}

void buf_add_str(struct buf *b, struct str s)
{
    buf_add(b, s.p, s.n);
}

void buf_add_c(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_add_char(struct buf *b, char c)
{
    *buf_reserve(b, 1) = c;
    b->n++;
}

void buf_add_int(struct buf *b, int64_t v)
{
    char digits[20];
    size_t n = 0;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        digits[n++] = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    char *to = buf_reserve(b, n + 1);
    if (v < 0) {
        *to++ = '-';
        b->n++;
    }
    b->n += n;
    while (n)
        *to++ = digits[--n];
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
