/* Converts between report rows and sums, in the order of the table's columns. */
#include "store/sqlite/report_row.h"

#define MONEY_SPLIT INT64_C(1000000000000000)
#define KEY_COLUMNS 3

__int128 money_read(sqlite3_stmt *s, int at)
{
    return (__int128)sql_int(s, at) * MONEY_SPLIT + sql_int(s, at + 1);
}

void money_bind(sqlite3_stmt *s, int at, __int128 micros)
{
    sql_bind_int(s, at, (int64_t)(micros / MONEY_SPLIT));
    sql_bind_int(s, at + 1, (int64_t)(micros % MONEY_SPLIT));
}

void report_sums_read(sqlite3_stmt *s, struct report_sums *ret)
{
    int at = KEY_COLUMNS;
    struct report_part *parts[] = {&ret->live, &ret->test};
    for (int i = 0; i < 2; i++, at += 8) {
        parts[i]->events = sql_int(s, at);
        parts[i]->starts = sql_int(s, at + 1);
        parts[i]->conversions[0] = sql_int(s, at + 2);
        parts[i]->conversions[1] = sql_int(s, at + 3);
        parts[i]->earnings_micros[0] = money_read(s, at + 4);
        parts[i]->earnings_micros[1] = money_read(s, at + 6);
    }
    ret->active_live = sql_int(s, at);
    ret->active_any = sql_int(s, at + 1);
    ret->live.outcomes = sql_int(s, at + 2);
    ret->test.outcomes = sql_int(s, at + 3);
}

void report_sums_bind(sqlite3_stmt *s, const struct report_sums *sums)
{
    int at = KEY_COLUMNS + 1;
    const struct report_part *parts[] = {&sums->live, &sums->test};
    for (int i = 0; i < 2; i++, at += 8) {
        sql_bind_int(s, at, parts[i]->events);
        sql_bind_int(s, at + 1, parts[i]->starts);
        sql_bind_int(s, at + 2, parts[i]->conversions[0]);
        sql_bind_int(s, at + 3, parts[i]->conversions[1]);
        money_bind(s, at + 4, parts[i]->earnings_micros[0]);
        money_bind(s, at + 6, parts[i]->earnings_micros[1]);
    }
    sql_bind_int(s, at, sums->active_live);
    sql_bind_int(s, at + 1, sums->active_any);
    sql_bind_int(s, at + 2, sums->live.outcomes);
    sql_bind_int(s, at + 3, sums->test.outcomes);
}
