/* Steps of a schema. There is one so far, so a later one is planted: a store of today is the older
 * version then, and the program that knows the planted step the newer one. */
#include "sqlite_store.h"

#include "sqlite_sql.h"

#include "store/sqlite/schema.h"

static const char planted_step[] = "ALTER TABLE event ADD COLUMN planted INT NOT NULL DEFAULT 7";

/* As the newer program does at its start. False: *ret_why (malloc'ed). */
static bool migrate_with(const char *step, char **ret_why)
{
    const char *steps[] = {schema_migration.steps[0], step};
    const struct migration newer = {steps, ARRAY_LEN(steps)};
    char path[512];
    struct sql q;
    snprintf(path, sizeof path, "%s/postbackd.db", directory);
    ASSERT(sql_open(&q, path, NULL, true, ret_why));
    bool good = migrate(&q, &newer, ret_why);
    sql_close(&q);
    return good;
}

static void close_store(void)
{
    store_close(store);
    store = NULL;
}

static void finish(void)
{
    sink_clear();
    remove_tree(directory);
}

static void open_refused(const char *because)
{
    struct sqlite_store_options options = {
        .directory = directory,
        .disk = disk_real(),
        .env = &test_env,
        .retention = {90, 30, 91},
    };
    char *why = NULL;
    CHECK(sqlite_store_open(&options, &why) == NULL);
    CHECK(why && strstr(why, because));
    free(why);
}

static void a_new_store_has_the_version_of_today(void)
{
    begin();
    close_store();
    CHECK_EQ_INT(SCHEMA_VERSION, schema_migration.count);
    CHECK_EQ_INT(sql_number("PRAGMA user_version"), SCHEMA_VERSION);
    finish();
}

/* A database without files has a journal of its own kind, as has a file system without locks. */
static void another_journal_mode_than_asked_for_is_refused(void)
{
    char *why = NULL;
    struct sql q;
    REQUIRE(sql_open(&q, ":memory:", NULL, true, &why));
    sql_set_journal_mode(&q, "memory");
    CHECK(!sql_failed(&q));
    sql_set_journal_mode(&q, "wal");
    CHECK(sql_failed(&q) && strstr(q.why, "another mode stays"));
    sql_close(&q);
}

static void an_older_store_gets_the_step_it_lacks(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    close_store();
    char *why = NULL;
    for (int time = 0; time < 2; time++) { /* the second time there is nothing to do */
        CHECK(migrate_with(planted_step, &why));
        CHECK_EQ_INT(sql_number("PRAGMA user_version"), SCHEMA_VERSION + 1);
        CHECK_EQ_INT(sql_number("SELECT sum(planted) FROM event"), 7);
    }
    finish();
}

static void a_newer_store_is_refused_and_left_alone(void)
{
    char *why = NULL;
    begin();
    close_store();
    CHECK(migrate_with(planted_step, &why));
    open_refused("has schema version 2, this postbackd knows up to 1: use the newer program");
    CHECK_EQ_INT(sql_number("PRAGMA user_version"), SCHEMA_VERSION + 1);
    finish();
}

static void a_store_of_another_format_is_refused_and_left_alone(void)
{
    char *why = NULL, path[512];
    struct sql q;
    begin();
    close_store();
    snprintf(path, sizeof path, "%s/postbackd.db", directory);
    REQUIRE(sql_open(&q, path, NULL, true, &why));
    sql_exec(&q, "PRAGMA application_id=0");
    sql_close(&q);
    open_refused("has application_id 0, not 1885498114");
    CHECK_EQ_INT(sql_number("PRAGMA user_version"), SCHEMA_VERSION);
    CHECK_EQ_INT(sql_number("PRAGMA application_id"), 0);
    finish();
}

static void a_step_that_fails_changes_nothing(void)
{
    char *why = NULL;
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    close_store();
    CHECK(!migrate_with("DROP TABLE meta; DELETE FROM nowhere", &why));
    CHECK(why && strstr(why, "nowhere"));
    free(why);
    reopen();
    CHECK_EQ_INT(submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann").kind, VERDICT_DUPLICATE);
    end();
}

int main(void)
{
    RUN(a_new_store_has_the_version_of_today);
    RUN(another_journal_mode_than_asked_for_is_refused);
    RUN(an_older_store_gets_the_step_it_lacks);
    RUN(a_newer_store_is_refused_and_left_alone);
    RUN(a_store_of_another_format_is_refused_and_left_alone);
    RUN(a_step_that_fails_changes_nothing);
    return check_done("sqlite_migrate");
}
