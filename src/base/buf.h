/* A growing byte buffer. Zero-initialised is empty; buf_free gives the memory back. */
#pragma once

#include "base/check.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

struct buf {
    char *p;
    size_t n;
    size_t capacity;
};

void buf_free(struct buf *b);
static inline void buf_clear(struct buf *b)
{
    b->n = 0;
}
/* Like buf_reserve, but always allocates. */
char *buf_grow(struct buf *b, size_t more);
/* Makes room for `more` further bytes and returns where to write them. The caller adds to `n`
 * itself. Inline, as the functions below: requests and answers are built from dozens of short
 * texts. */
static inline char *buf_reserve(struct buf *b, size_t more)
{
    if (b->n < b->capacity && more < b->capacity - b->n) /* one byte more, for a NUL */
        return b->p + b->n;
    return buf_grow(b, more);
}
static inline void buf_add(struct buf *b, const void *p, size_t n)
{
    char *to = buf_reserve(b, n);
    if (n) {
        ASSERT(p); /* only an empty text may be absent */
        memcpy(to, p, n);
    }
    b->n += n;
}
static inline void buf_add_str(struct buf *b, struct str s)
{
    buf_add(b, s.p, s.n);
}
static inline void buf_add_c(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}
static inline void buf_add_char(struct buf *b, char c)
{
    *buf_reserve(b, 1) = c;
    b->n++;
}
/* As 2n digits in lower case. */
static inline void buf_add_hex(struct buf *b, const void *bytes, size_t n)
{
    hex_print(buf_reserve(b, 2 * n), bytes, n);
    b->n += 2 * n;
}
void buf_add_int(struct buf *b, int64_t v); /* decimal */
/* Appends a name to a list such as "a, b, c". The buffer has only the list. */
static inline void buf_add_name(struct buf *list, struct str name)
{
    buf_add_c(list, list->n ? ", " : "");
    buf_add_str(list, name);
}
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
/* Drops the first n bytes, moving the rest down. */
void buf_consume(struct buf *b, size_t n);
static inline struct str buf_str(const struct buf *b)
{
    return (struct str){b->p ? b->p : "", b->n};
}
/* A new text; free with free(). */
char *xprintf(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* NUL-terminates (the NUL is not counted) and returns the text; owned by the buffer. */
const char *buf_c(struct buf *b);
