/* What goes with a partition of bodies or attempts, in the database that SCENARIO_POSTGRESQL names:
 * nothing that waits, also where it began to wait while the partition was being dropped. */
#include "check.h"
#include "database.h"

#include "store/postgresql/partitions.h"
#include "store/postgresql/pg_connect.h"
#include "store/postgresql/pg_schema.h"

#include <pthread.h>

#define PERIOD 7
#define WEEK 30
#define WEEKS 10 /* more than are dropped at once */
#define WEEK_MS (7 * 86400000LL)
#define NOW_WEEK (WEEK + WEEKS + 5)
#define TODAY 20000 /* a day */

static struct pg pg, other;

static int64_t partitions(void)
{
    return database_number(&pg,
                           "SELECT count(*) FROM pg_inherits WHERE inhparent='body'::regclass");
}

static void begin(void)
{
    struct pg_partitions known = {0};
    database_connect(&pg);
    database_connect(&other);
    database_empty(&pg);
    ASSERT(pg_migrate(&pg, &pg_schema_migration, PG_EXPAND));
    ASSERT(pg_partition_make(&pg, &known, PARTITION_PERIOD, PERIOD) == PG_OK);
    for (int32_t week = WEEK; week < WEEK + WEEKS; week++)
        ASSERT(pg_partition_make(&pg, &known, PARTITION_WEEK, week) == PG_OK);
    ASSERT(pg_partition_make(&pg, &known, PARTITION_WEEK, NOW_WEEK) == PG_OK);
    pg_partitions_free(&known);
    CHECK_EQ_INT(partitions(), 1);
}

static void end(void)
{
    pg_close(&pg);
    pg_close(&other);
}

/* As a resend is committed by another node, once the drop waits for what that has read. */
static void *commit_behind(void *none)
{
    while (database_number(&other, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0)
        ;
    pg_commit(&other);
    ASSERT(pg_sync(&other) == PG_OK);
    return none;
}

static void bodies_of_a_resend_under_way_stay(void)
{
    pthread_t thread;
    begin();
    pg_begin(&other, false);
    pg_exec(&other, "SELECT count(*) FROM body");
    pg_exec(&other, "INSERT INTO waiting VALUES(1,1,1,1,7,1,true,false)");
    ASSERT(pg_sync(&other) == PG_OK);
    ASSERT(pthread_create(&thread, NULL, commit_behind, NULL) == 0);
    while (pg_bodies_drop(&pg, PERIOD + 1, TODAY) != PG_OK)
        pg_rollback(&pg); /* it waits for half a second at most */
    ASSERT(pthread_join(thread, NULL) == 0);
    CHECK_EQ_INT(partitions(), 1);
    end();
}

static void bodies_that_nothing_waits_for_go(void)
{
    begin();
    CHECK(pg_bodies_drop(&pg, PERIOD, TODAY) == PG_OK);
    CHECK_EQ_INT(partitions(), 1);
    CHECK(pg_bodies_drop(&pg, PERIOD + 1, TODAY) == PG_OK);
    CHECK_EQ_INT(partitions(), 0);
    end();
}

static void note(int account_no, int period, int final_day)
{
    pg_exec_f(&pg, "INSERT INTO final_late VALUES(%d,%d,%d)", account_no, period, final_day);
    ASSERT(pg_sync(&pg) == PG_OK);
}

static void bodies_of_what_became_final_late_stay_as_long(void)
{
    begin();
    note(1, PERIOD, TODAY);
    note(2, PERIOD, TODAY - 1);
    CHECK(pg_bodies_drop(&pg, PERIOD + 1, TODAY) == PG_OK);
    CHECK_EQ_INT(partitions(), 1);
    CHECK_EQ_INT(database_number(&pg, "SELECT count(*) FROM final_late"), 2);
    CHECK(pg_bodies_drop(&pg, PERIOD + 1, TODAY + 1) == PG_OK);
    CHECK_EQ_INT(partitions(), 0);
    CHECK_EQ_INT(database_number(&pg, "SELECT count(*) FROM final_late"), 0);
    end();
}

/* A period in use does not keep the later ones, which nothing waits for. */
static void bodies_go_beside_older_ones_that_stay(void)
{
    struct pg_partitions known = {0};
    begin();
    for (int32_t period = PERIOD + 1; period <= PERIOD + 3; period++)
        ASSERT(pg_partition_make(&pg, &known, PARTITION_PERIOD, period) == PG_OK);
    pg_partitions_free(&known);
    pg_exec(&pg, "INSERT INTO waiting VALUES(1,1,1,1,7,1,true,false)");
    note(1, PERIOD + 2, TODAY);
    CHECK(pg_bodies_drop(&pg, PERIOD + 3, TODAY) == PG_OK);
    CHECK_EQ_INT(partitions(), 3);
    CHECK_EQ_INT(database_number(&pg, "SELECT count(to_regclass('body_100008'))"), 0);
    end();
}

static void add_attempt(int event_no, int week, int number)
{
    pg_exec_f(
        &pg,
        "INSERT INTO attempt VALUES(1,%d,%d,%d,%lld,45,false,5,500,3,'http://x/','why','body')",
        event_no, week, number, week * WEEK_MS + number);
    ASSERT(pg_sync(&pg) == PG_OK);
}

static void add_waiting(int event_no, int64_t accepted_ms, bool pending)
{
    pg_exec_f(&pg, "INSERT INTO waiting VALUES(1,4,9,%d,7,%lld,%s,false)", event_no,
              (long long)accepted_ms, pending ? "true" : "false");
    ASSERT(pg_sync(&pg) == PG_OK);
}

#define ATTEMPTS_OF "SELECT count(*) FROM attempt WHERE account_no=1 AND event_no="

/* 1 is pending, 2 final, 3 final and owes a resend's try, 4 pending and accepted later. */
static void attempts_of_what_is_not_final_stay(void)
{
    begin();
    for (int event_no = 1; event_no <= 3; event_no++)
        for (int week = WEEK; week < WEEK + WEEKS; week++)
            add_attempt(event_no, week, week);
    add_attempt(4, WEEK + WEEKS - 1, 1);
    add_waiting(1, WEEK * WEEK_MS, true);
    add_waiting(3, WEEK * WEEK_MS, false);
    add_waiting(4, (WEEK + WEEKS - 1) * WEEK_MS + 5, true);
    CHECK(pg_attempts_drop(&pg, WEEK + WEEKS, NOW_WEEK) == PG_OK);
    CHECK_EQ_INT(database_number(&pg, ATTEMPTS_OF "1"),
                 WEEKS); /* each once, whether moved or not */
    CHECK_EQ_INT(database_number(&pg, ATTEMPTS_OF "2"), WEEKS - 8);
    CHECK(pg_attempts_drop(&pg, WEEK + WEEKS, NOW_WEEK) == PG_OK);
    CHECK_EQ_INT(database_number(&pg, ATTEMPTS_OF "1"), WEEKS);
    CHECK_EQ_INT(database_number(&pg, ATTEMPTS_OF "1 AND texts='body'"), WEEKS);
    CHECK_EQ_INT(database_number(&pg, ATTEMPTS_OF "2"), 0);
    CHECK_EQ_INT(database_number(&pg, ATTEMPTS_OF "3"), 0);
    CHECK_EQ_INT(database_number(&pg, ATTEMPTS_OF "4"), 1);
    CHECK(pg_attempts_drop(&pg, WEEK + WEEKS, NOW_WEEK) == PG_OK);
    CHECK_EQ_INT(database_number(&pg, ATTEMPTS_OF "1"), WEEKS);
    end();
}

/* With the week in which the next week went that had attempts of what waited. */
static void kept_attempts_go_when_nothing_has_waited_for_them_for_long(void)
{
    begin();
    note(1, PERIOD - 1, TODAY);
    add_attempt(1, WEEK, 1);
    add_waiting(1, WEEK * WEEK_MS, true);
    CHECK(pg_attempts_drop(&pg, WEEK + 1, NOW_WEEK) == PG_OK);
    CHECK_EQ_INT(database_number(&pg, "SELECT count(*) FROM final_late"),
                 1); /* that is of bodies */
    CHECK_EQ_INT(database_number(&pg, ATTEMPTS_OF "1"), 1);
    pg_exec(&pg, "DELETE FROM waiting");
    ASSERT(pg_sync(&pg) == PG_OK);
    CHECK(pg_attempts_drop(&pg, WEEK + 2, NOW_WEEK) == PG_OK);
    CHECK_EQ_INT(database_number(&pg, ATTEMPTS_OF "1 AND texts='body'"), 1);
    CHECK_EQ_INT(database_number(&pg, "SELECT count(*) FROM attempt_kept"), 0);
    CHECK(pg_attempts_drop(&pg, NOW_WEEK, NOW_WEEK + 1) == PG_OK);
    CHECK(pg_attempts_drop(&pg, NOW_WEEK, NOW_WEEK + 1) == PG_OK); /* those beyond eight */
    CHECK_EQ_INT(database_number(&pg, ATTEMPTS_OF "1"), 1);
    CHECK(pg_attempts_drop(&pg, NOW_WEEK + 1, NOW_WEEK + 1) == PG_OK);
    CHECK_EQ_INT(database_number(&pg, ATTEMPTS_OF "1"), 0);
    end();
}

int main(void)
{
    RUN(bodies_of_a_resend_under_way_stay);
    RUN(bodies_that_nothing_waits_for_go);
    RUN(bodies_of_what_became_final_late_stay_as_long);
    RUN(bodies_go_beside_older_ones_that_stay);
    RUN(attempts_of_what_is_not_final_stay);
    RUN(kept_attempts_go_when_nothing_has_waited_for_them_for_long);
    return check_done("postgresql_partitions");
}
