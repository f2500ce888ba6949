/* Arguments of statements in PostgreSQL's binary format: single values, and columns of values that
 * a statement unnests into rows. An absent text is NULL. */
#pragma once

#include "base/buf.h"
#include "base/hash.h"

/* The server's object ids of its types; they never change. */
enum pg_type {
    PG_BOOL = 16,
    PG_BYTEA = 17,
    PG_INT8 = 20,
    PG_INT2 = 21,
    PG_INT4 = 23,
    PG_TEXT = 25,
    PG_UUID = 2950,
};

/* The values of one column, all of one type. Zero-initialised except for `type` it is empty. */
struct pg_column {
    enum pg_type type;
    uint32_t count;
    bool has_null;
    struct buf bytes; /* the elements, each after its length */
};

void column_int(struct pg_column *c, int64_t v); /* bool, int2, int4, int8; the value must fit */
void column_null(struct pg_column *c);
void column_int_or_null(struct pg_column *c, int64_t v); /* 0 becomes NULL */
void column_str(struct pg_column *c, struct str s);
void column_key(struct pg_column *c, struct key128 key);
/* As text, which the statement casts to numeric: sums of money have 128 bits. */
void column_money(struct pg_column *c, __int128 micros);

/* The columns of one statement. */
#define PG_COLUMNS_MOST 40
struct pg_table {
    int count;
    struct pg_column columns[PG_COLUMNS_MOST];
};
/* `types`: one letter per column: b bool, s int2, i int4, l int8, t text, y bytea, u uuid. */
void table_begin(struct pg_table *t, const char *types);
static inline uint32_t table_rows(const struct pg_table *t)
{
    return t->columns[0].count;
}
void table_free(struct pg_table *t);

#define PG_ARGS_MOST 48
struct pg_args {
    int count;
    uint32_t rows; /* of the longest column, at least 1 */
    struct buf bytes;
    struct pg_arg {
        unsigned type;
        size_t at;
        int length; /* -1: NULL */
    } args[PG_ARGS_MOST];
};

void args_int(struct pg_args *a, enum pg_type type, int64_t v);
void args_str(struct pg_args *a, enum pg_type type, struct str s);
void args_key(struct pg_args *a, struct key128 key);
void args_column(struct pg_args *a, const struct pg_column *c);
void args_table(struct pg_args *a, const struct pg_table *t); /* each column as an argument */
void args_clear(struct pg_args *a);
void args_free(struct pg_args *a);
