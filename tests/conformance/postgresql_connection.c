/* How trips end, on the database that SCENARIO_POSTGRESQL names: time limits, the reason that is
 * told, and rolling back what was not sent. */
#include "check.h"
#include "database.h"
#include "store/postgresql/pg_connect.h"

#include <string.h>

#define SHORT_MS 300

static struct pg pg;

static enum pg_fate sleep_for(const char *seconds, bool takes_long)
{
    pg_begin(&pg, true);
    if (takes_long)
        pg_take_long(&pg);
    pg_exec_f(&pg, "SELECT pg_sleep(%s)", seconds);
    return pg_end_read(&pg);
}

static void a_long_read_has_a_long_trip(void)
{
    database_connect(&pg);
    pg.trip_ms = SHORT_MS;
    CHECK(sleep_for("1", true) == PG_OK);
    CHECK(sleep_for("0", false) == PG_OK);
    CHECK(sleep_for("1", false) == PG_LOST); /* the next transaction is a short one again */
    pg_close(&pg);
    database_connect(&pg);
    pg.long_trip_ms = SHORT_MS;
    CHECK(sleep_for("1", true) == PG_LOST);
    pg_close(&pg);
}

static void no_old_reason_is_told(void)
{
    database_connect(&pg);
    pg.trip_ms = SHORT_MS;
    pg_exec(&pg, "SELECT 1/0");
    CHECK(pg_sync(&pg) == PG_REFUSED);
    CHECK(strstr(buf_c(&pg.why), "division by zero"));
    CHECK(sleep_for("1", false) == PG_LOST);
    CHECK_STR(buf_str(&pg.why), "the database did not answer in time");
    pg_close(&pg);
}

static void what_was_not_sent_is_rolled_back(void)
{
    database_connect(&pg);
    const PGconn *before = pg.connection;
    pg_begin(&pg, false);
    pg_rollback(&pg);
    pg_begin(&pg, false);
    pg_exec(&pg, "SELECT 1");
    CHECK(pg_sync(&pg) == PG_OK);
    pg_exec(&pg, "SELECT 2");
    pg_rollback(&pg);
    CHECK_EQ_INT(database_number(&pg, "SELECT 3"), 3);
    CHECK(pg.connection == before);
    pg_close(&pg);
}

int main(void)
{
    RUN(a_long_read_has_a_long_trip);
    RUN(no_old_reason_is_told);
    RUN(what_was_not_sent_is_rolled_back);
    return check_done("postgresql_connection");
}
