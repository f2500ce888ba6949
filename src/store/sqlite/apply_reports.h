/* A step of apply_memtable: report rows and active panelists. */
#pragma once

#include "store/idmap.h"
#include "store/sqlite/sql.h"

struct apply;

struct apply_active_rows { /* the statements are for one day's table */
    int64_t day;
    sqlite3_stmt *any, *find, *add, *update;
    struct idmap touched; /* days written since the last purge, by apply_day_key */
};

void apply_reports(struct apply *a);
/* idmap keys must be above 0, but report days may be before 1970. */
static inline uint64_t apply_day_key(int64_t day)
{
    return (uint64_t)(day + INT32_MAX);
}
