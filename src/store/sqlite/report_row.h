/* Rows of the report table and their sums. Sums of money have 128 bits and are stored as two
 * numbers, high * 10^15 + low. */
#pragma once

#include "store/report_sums.h"
#include "store/sqlite/sql.h"

/* A sum of money in two columns. */
__int128 money_read(sqlite3_stmt *s, int at);
void money_bind(sqlite3_stmt *s, int at, __int128 micros);

/* SQL that adds to a sum and carries from the low half to the high one, so that both always fit
 * into 63 bits. */
#define MONEY_ADD(name, high, low)                                                                 \
    name "_high=" name "_high+" high "+(" name "_low+" low ")/1000000000000000," name              \
         "_low=(" name "_low+" low ")%1000000000000000"

/* A row of SELECT * FROM report. */
void report_sums_read(sqlite3_stmt *s, struct report_sums *ret);
/* Binds the columns after the key's three. */
void report_sums_bind(sqlite3_stmt *s, const struct report_sums *sums);
