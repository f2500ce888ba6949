/* See database.h. */
#include "database.h"
#include "check.h"
#include "store/postgresql/pg_connect.h"

#include <stdlib.h>

void database_connect(struct pg *to)
{
    const char *uri = getenv("SCENARIO_POSTGRESQL");
    ASSERT(uri);
    pg_init(to, uri);
    ASSERT(pg_connect(to));
    pg_exec(to, "SET client_min_messages=warning");
    pg_exec(to, "SET jit=off"); /* as pg_begin does */
    ASSERT(pg_sync(to) == PG_OK);
}

void database_empty(struct pg *pg)
{
    pg_exec(pg, "DROP SCHEMA public CASCADE");
    pg_exec(pg, "CREATE SCHEMA public");
    ASSERT(pg_sync(pg) == PG_OK);
}

int64_t database_number(struct pg *pg, const char *sql)
{
    int at = pg_exec(pg, sql);
    return CHECK(pg_sync(pg) == PG_OK) ? pg_int(pg_result(pg, at), 0, 0) : -1;
}
