/* Steps of PostgreSQL's schema, in the database that SCENARIO_POSTGRESQL names. There is one step
 * so far, so two are planted: one that expands, one that contracts. A database of today is the
 * older version then; programs are told apart by the steps that they know. */
#include "check.h"
#include "database.h"

#include "store/postgresql/pg_connect.h"
#include "store/postgresql/pg_schema.h"

static const char *const expands[] = {"ALTER TABLE account ADD COLUMN planted int DEFAULT 7", NULL};
static const char *const contracts[] = {"ALTER TABLE account DROP COLUMN planted", NULL};
static const char *const fails[] = {"DROP TABLE meta", "DROP TABLE nowhere", NULL};

static const char *uri;
static struct pg pg;

static void begin(void)
{
    database_connect(&pg);
    uri = pg.uri;
    database_empty(&pg);
}

static void end(void)
{
    pg_close(&pg);
}

static int64_t columns(void)
{
    return database_number(&pg, "SELECT count(*) FROM information_schema.columns"
                                " WHERE table_name='account' AND column_name='planted'");
}

static int64_t newest(void)
{
    return database_number(&pg, "SELECT max(version) FROM schema_version");
}

/* As a program that knows so many steps of all of them. */
static bool migrate(int known, enum pg_step_kind most)
{
    const struct pg_step steps[] = {
        pg_schema_migration.steps[0],
        {"a column", PG_EXPAND, 1, expands},
        {"not the column", PG_CONTRACT, 3, contracts},
    };
    const struct pg_migration to = {steps, known};
    return pg_migrate(&pg, &to, most);
}

static void old_and_new_run_beside_each_other_until_the_end(void)
{
    begin();
    ASSERT(pg_schema_migration.count == 1);
    CHECK(migrate(1, PG_EXPAND));
    CHECK(migrate(3, PG_EXPAND)); /* a newer program starts */
    CHECK_EQ_INT(newest(), 2);
    CHECK_EQ_INT(columns(), 1);
    CHECK(migrate(1, PG_EXPAND)); /* the older one again */
    CHECK_EQ_INT(newest(), 2);
    for (int time = 0; time < 2; time++) { /* postbackd migrate, once more than needed */
        CHECK(migrate(3, PG_CONTRACT));
        CHECK_EQ_INT(newest(), 3);
        CHECK_EQ_INT(columns(), 0);
    }
    CHECK(!migrate(1, PG_EXPAND));
    CHECK_CSTR(buf_c(&pg.why),
               "the database has schema version 3 and is for programs that know 3 at least, this"
               " postbackd knows up to 1: use a newer one");
    CHECK_EQ_INT(newest(), 3);
    end();
}

static void tables_of_other_steps_are_left_alone(void)
{
    static const char why[] = "the database was made by an unreleased postbackd with other tables:"
                              " copy it with that program into a SQLite store, and from there with"
                              " this one into an empty database";
    static const char *const changes[] = {"UPDATE schema_version SET crc=crc+1",
                                          "ALTER TABLE schema_version DROP COLUMN crc"};
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        begin();
        CHECK(migrate(1, PG_EXPAND));
        pg_exec(&pg, changes[i]);
        CHECK(pg_sync(&pg) == PG_OK);
        CHECK(!migrate(3, PG_EXPAND));
        CHECK_CSTR(buf_c(&pg.why), why);
        CHECK_EQ_INT(newest(), 1);
        end();
    }
}

static void an_empty_database_gets_all_steps(void)
{
    begin();
    CHECK(migrate(3, PG_EXPAND));
    CHECK_EQ_INT(newest(), 3);
    CHECK_EQ_INT(columns(), 0);
    end();
}

static void a_step_that_fails_changes_nothing(void)
{
    begin();
    CHECK(migrate(1, PG_EXPAND));
    const struct pg_step steps[] = {pg_schema_migration.steps[0], {"fails", PG_EXPAND, 1, fails}};
    CHECK(!pg_migrate(&pg, &(struct pg_migration){steps, 2}, PG_EXPAND));
    CHECK(strstr(buf_c(&pg.why), "nowhere") != NULL);
    pg_rollback(&pg);
    CHECK_EQ_INT(newest(), 1);
    CHECK_EQ_INT(database_number(&pg, "SELECT count(*) FROM meta"), 0);
    end();
}

int main(void)
{
    RUN(old_and_new_run_beside_each_other_until_the_end);
    RUN(tables_of_other_steps_are_left_alone);
    RUN(an_empty_database_gets_all_steps);
    RUN(a_step_that_fails_changes_nothing);
    return check_done("postgresql_migrate");
}
