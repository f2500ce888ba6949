/* Values of a result. */
#pragma once

#include "base/str.h"

#include <libpq-fe.h>

int64_t pg_affected(const PGresult *r); /* rows that the statement has changed */
bool pg_is_null(const PGresult *r, int row, int column);
int64_t pg_int(const PGresult *r, int row, int column);    /* any integer or bool; NULL: 0 */
struct str pg_str(const PGresult *r, int row, int column); /* NULL: absent */
__int128 pg_money(const PGresult *r, int row, int column); /* numeric cast to text */
