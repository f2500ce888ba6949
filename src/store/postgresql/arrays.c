/* The binary format of arrays (one dimension): number of dimensions, whether there are NULLs, type
 * of the elements, length, lower bound, then each element after its length; all integers of four
 * bytes, big-endian. Elements are appended to a column, and the head is written when the column
 * becomes an argument. */
#include "store/postgresql/arrays.h"

#include "base/bytes.h"

static void put_32(struct buf *b, uint32_t v)
{
    char big[4];
    put_be32(big, v);
    buf_add(b, big, sizeof big);
}

/* An integer as wide as its type; returns the width. */
static size_t put_int(struct buf *b, enum pg_type type, int64_t v)
{
    size_t width = type == PG_BOOL ? 1 : type == PG_INT2 ? 2 : type == PG_INT4 ? 4 : 8;
    ASSERT(type == PG_BOOL || type == PG_INT2 || type == PG_INT4 || type == PG_INT8);
    ASSERT(width == 8 ||
           (v >= -(INT64_C(1) << (width * 8 - 1)) && v < INT64_C(1) << (width * 8 - 1)));
    char big[8];
    put_be64(big, (uint64_t)v);
    buf_add(b, big + (8 - width), width);
    return width;
}

static unsigned array_type(enum pg_type element)
{
    switch (element) {
    case PG_BOOL: return 1000;
    case PG_BYTEA: return 1001;
    case PG_INT2: return 1005;
    case PG_INT4: return 1007;
    case PG_TEXT: return 1009;
    case PG_INT8: return 1016;
    case PG_UUID: return 2951;
    }
    UNREACHABLE();
}

static void put_key(struct buf *b, struct key128 key)
{
    char bytes[16];
    put_be64(bytes, key.hi);
    put_be64(bytes + 8, key.lo);
    buf_add(b, bytes, sizeof bytes);
}

/* --- columns ---------------------------------------------------------------------------------- */

void column_int(struct pg_column *c, int64_t v)
{
    size_t at = c->bytes.n;
    put_32(&c->bytes, 0);
    uint32_t big = htobe32((uint32_t)put_int(&c->bytes, c->type, v));
    memcpy(c->bytes.p + at, &big, sizeof big);
    c->count++;
}

void column_null(struct pg_column *c)
{
    put_32(&c->bytes, UINT32_MAX);
    c->has_null = true;
    c->count++;
}

void column_int_or_null(struct pg_column *c, int64_t v)
{
    if (v == 0)
        column_null(c);
    else
        column_int(c, v);
}

void column_str(struct pg_column *c, struct str s)
{
    ASSERT(c->type == PG_TEXT || c->type == PG_BYTEA);
    if (!s.p) {
        column_null(c);
        return;
    }
    c->count++;
    put_32(&c->bytes, (uint32_t)s.n);
    buf_add_str(&c->bytes, s);
}

void column_key(struct pg_column *c, struct key128 key)
{
    ASSERT(c->type == PG_UUID);
    put_32(&c->bytes, sizeof key);
    put_key(&c->bytes, key);
    c->count++;
}

void column_money(struct pg_column *c, __int128 micros)
{
    char text[48];
    char *at = text + sizeof text;
    unsigned __int128 left = micros < 0 ? -(unsigned __int128)micros : (unsigned __int128)micros;
    do
        *--at = (char)('0' + (int)(left % 10));
    while ((left /= 10) > 0);
    if (micros < 0)
        *--at = '-';
    column_str(c, (struct str){at, (size_t)(text + sizeof text - at)});
}

void table_begin(struct pg_table *t, const char *types)
{
    t->count = 0;
    for (; *types; types++) {
        ASSERT(t->count < PG_COLUMNS_MOST);
        struct pg_column *c = &t->columns[t->count++];
        switch (*types) {
        case 'b': c->type = PG_BOOL; break;
        case 's': c->type = PG_INT2; break;
        case 'i': c->type = PG_INT4; break;
        case 'l': c->type = PG_INT8; break;
        case 't': c->type = PG_TEXT; break;
        case 'y': c->type = PG_BYTEA; break;
        case 'u': c->type = PG_UUID; break;
        default: UNREACHABLE();
        }
    }
    for (int i = 0; i < t->count; i++) {
        t->columns[i].count = 0;
        t->columns[i].has_null = false;
        buf_clear(&t->columns[i].bytes);
    }
}

void table_free(struct pg_table *t)
{
    for (int i = 0; i < PG_COLUMNS_MOST; i++)
        buf_free(&t->columns[i].bytes);
    *t = (struct pg_table){0};
}

/* --- arguments -------------------------------------------------------------------------------- */

static struct pg_arg *next(struct pg_args *a, unsigned type)
{
    ASSERT(a->count < PG_ARGS_MOST);
    struct pg_arg *arg = &a->args[a->count++];
    *arg = (struct pg_arg){.type = type, .at = a->bytes.n};
    return arg;
}

static void end(struct pg_args *a, struct pg_arg *arg)
{
    ASSERT(a->bytes.n - arg->at <= INT32_MAX);
    arg->length = (int)(a->bytes.n - arg->at);
}

void args_int(struct pg_args *a, enum pg_type type, int64_t v)
{
    struct pg_arg *arg = next(a, type);
    (void)put_int(&a->bytes, type, v);
    end(a, arg);
}

void args_str(struct pg_args *a, enum pg_type type, struct str s)
{
    struct pg_arg *arg = next(a, type);
    if (s.p)
        buf_add_str(&a->bytes, s);
    end(a, arg);
    if (!s.p)
        arg->length = -1;
}

void args_key(struct pg_args *a, struct key128 key)
{
    struct pg_arg *arg = next(a, PG_UUID);
    put_key(&a->bytes, key);
    end(a, arg);
}

void args_column(struct pg_args *a, const struct pg_column *c)
{
    struct pg_arg *arg = next(a, array_type(c->type));
    if (c->count > a->rows)
        a->rows = c->count;
    put_32(&a->bytes, c->count > 0 ? 1 : 0);
    put_32(&a->bytes, c->has_null);
    put_32(&a->bytes, (uint32_t)c->type);
    if (c->count > 0) {
        put_32(&a->bytes, c->count);
        put_32(&a->bytes, 1);
        buf_add(&a->bytes, c->bytes.p, c->bytes.n);
    }
    end(a, arg);
}

void args_table(struct pg_args *a, const struct pg_table *t)
{
    for (int i = 0; i < t->count; i++) {
        ASSERT(t->columns[i].count == t->columns[0].count);
        args_column(a, &t->columns[i]);
    }
}

void args_clear(struct pg_args *a)
{
    a->count = 0;
    a->rows = 1;
    buf_clear(&a->bytes);
}

void args_free(struct pg_args *a)
{
    buf_free(&a->bytes);
    *a = (struct pg_args){0};
}
