/* Values of a result in binary format. */
#include "store/postgresql/pg_result.h"

#include "store/postgresql/connection.h"

int64_t pg_affected(const PGresult *r)
{
    uint64_t n = 0;
    /* libpq's parameter is not const, though it does not change the result. */
    PGresult *result = (PGresult *)r;
    return str_parse_uint(str_of(PQcmdTuples(result)), INT64_MAX, &n) ? (int64_t)n : 0;
}

bool pg_is_null(const PGresult *r, int row, int column)
{
    return PQgetisnull(r, row, column) != 0;
}

int64_t pg_int(const PGresult *r, int row, int column)
{
    if (pg_is_null(r, row, column))
        return 0;
    const unsigned char *p = (const unsigned char *)PQgetvalue(r, row, column);
    int width = PQgetlength(r, row, column);
    ASSERT(width == 1 || width == 2 || width == 4 || width == 8);
    uint64_t v = p[0] & 0x80 && width > 1 ? UINT64_MAX : 0;
    for (int i = 0; i < width; i++)
        v = v << 8 | p[i];
    return (int64_t)v;
}

struct str pg_str(const PGresult *r, int row, int column)
{
    if (pg_is_null(r, row, column))
        return STR_NONE;
    return (struct str){PQgetvalue(r, row, column), (size_t)PQgetlength(r, row, column)};
}

__int128 pg_money(const PGresult *r, int row, int column)
{
    struct str s = pg_str(r, row, column);
    bool negative = s.n > 0 && s.p[0] == '-';
    __int128 v = 0;
    for (size_t i = negative; i < s.n; i++) {
        ASSERT(s.p[i] >= '0' && s.p[i] <= '9');
        v = v * 10 + (s.p[i] - '0');
    }
    return negative ? -v : v;
}
