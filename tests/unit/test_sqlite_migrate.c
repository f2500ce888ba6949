/* Upgrades that look at every event, in slices: the ledger of version 3 comes out as one statement
 * over all events has it, whatever the slices, wherever it was stopped or killed. */
#include "sqlite_store.h"

#include "sqlite_old.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/sqlite/schema.h"

#define EVENTS 3000

/* A store of version 2 with EVENTS callbacks of three apps, a month, both kinds, every state, and
 * sums that pass 2^63. */
static void make_version_2(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    store_close(store);
    store = NULL;
    to_version_8();
    char text[2048];
    snprintf(text, sizeof text,
             "CREATE TABLE one AS SELECT * FROM event; DELETE FROM event; DELETE FROM due;"
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<%d),"
             " many AS (SELECT one.*, i FROM n, one)"
             "INSERT INTO event SELECT (5+i%%2<<40)+i, 1+i%%3, client_no, type, i%%4, i%%5=0,"
             " reward_decimals, CASE WHEN i%%97=0 THEN -i ELSE occurred_ms-i%%31*86400000 END,"
             " accepted_ms, CASE WHEN i%%3=0 THEN 9100000000000000000 ELSE 1+i END,"
             " CASE WHEN i%%7=0 THEN -9200000000000000000 ELSE -i END,"
             " offer_id, original_no, event_id, panelist_id, session_id, mid, offer_title,"
             " offer_goal_id, original_reward_id, reason_text, signature_offset, counts_for_cap,"
             " segment, CASE WHEN i%%4=0 THEN 0 WHEN i%%6=0 THEN 1 ELSE 3+i%%3 END, reason, 0,"
             " manual, failed_attempts, slot, due_ms, attempts, counted FROM many;"
             "DROP TABLE one; UPDATE meta SET value=%d WHERE name='events_accepted';"
             "DROP TABLE book; DROP TABLE intraday; DROP TABLE accepted_back;"
             "DROP INDEX event_search;"
             "CREATE INDEX cap_by_time ON cap(occurred_ms);"
             "ALTER TABLE report DROP COLUMN live_outcomes;"
             "ALTER TABLE report DROP COLUMN test_outcomes; PRAGMA user_version=2",
             EVENTS, EVENTS);
    run_sql(text);
}

/* The rows of the ledger that are not in the other one, either way: version 3 as it was first
 * written, in one statement per half. Parts are small enough for sums of 63 bits. */
#define LEDGER(state)                                                                              \
    "SELECT id>>40," SCHEMA_EVENT_DAY ",app_no,lane,is_test," state ",count(*),"                   \
    "sum(reward_micros/1000000000) rh,sum(reward_micros%1000000000) rl,"                           \
    "sum(revenue_micros/1000000000) vh,sum(revenue_micros%1000000000) vl"                          \
    " FROM event WHERE lane<>0 GROUP BY 1,2,3,4,5,6"

static void check_ledger(void)
{
    /* Both as billions and what is left of them: high * 10^15 + low = b * 10^9 + r. */
    run_sql("CREATE TABLE expected AS " LEDGER("0") " UNION ALL " LEDGER("state"));
    CHECK(sql_number("SELECT count(*) FROM expected") > 500);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM book"),
                 sql_number("SELECT count(*) FROM expected"));
    run_sql("CREATE TABLE apart AS SELECT account_no,day,app_no,lane,is_test,state,count,"
            " reward_high*1000000+reward_low/1000000000, reward_low%1000000000,"
            " revenue_high*1000000+revenue_low/1000000000, revenue_low%1000000000 FROM book;"
            "UPDATE expected SET rh=rh+rl/1000000000, rl=rl%1000000000,"
            " vh=vh+vl/1000000000, vl=vl%1000000000;");
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM (SELECT * FROM apart EXCEPT"
                            " SELECT * FROM expected)"),
                 0);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM meta WHERE name LIKE 'upgrade%'"), 0);
    CHECK_EQ_INT(sql_number("PRAGMA user_version"), SCHEMA_VERSION);
}

/* --- opening -----------------------------------------------------------------------------------
 */

struct watched {
    int64_t stop_at, kill_at; /* events of step 3; INT64_MAX: never */
    int64_t first;            /* seen in step 3: how far it was at the first look */
    struct store_upgrade last;
};

static bool watch(void *context, const struct store_upgrade *at)
{
    struct watched *w = context;
    w->last = *at;
    if (at->step != 3)
        return true;
    if (w->first < 0 && at->events > 0)
        w->first = at->events;
    if (at->events >= w->kill_at)
        raise(SIGKILL);
    return at->events < w->stop_at;
}

static struct store *open_watched(struct watched *w, int64_t slice, char **ret_why)
{
    w->first = -1;
    struct sqlite_store_options options = {
        .directory = directory,
        .disk = disk_real(),
        .env = &test_env,
        .retention = {90, 30, 91},
        .upgrade_goes_on = watch,
        .upgrade_context = w,
        .upgrade_slice = slice,
    };
    return sqlite_store_open(&options, ret_why);
}

static void open_to_the_end(struct watched *w, int64_t slice)
{
    char *why = NULL;
    w->stop_at = w->kill_at = INT64_MAX;
    struct store *s = open_watched(w, slice, &why);
    if (!CHECK(s != NULL))
        printf("%s\n", why);
    else
        store_close(s);
    free(why);
}

static void finish(void)
{
    check_ledger();
    sink_clear();
    remove_tree(directory);
}

static void slices_add_up(void)
{
    static const int64_t slices[] = {1, 7, 1000, EVENTS, 0};
    for (size_t i = 0; i < ARRAY_LEN(slices); i++) {
        make_version_2();
        struct watched w;
        open_to_the_end(&w, slices[i]);
        CHECK_EQ_INT(w.last.from, 2);
        CHECK_EQ_INT(w.last.to, SCHEMA_VERSION);
        CHECK_EQ_INT(w.last.of, EVENTS);
        finish();
    }
}

static void goes_on_where_it_was_stopped(void)
{
    make_version_2();
    struct watched w;
    for (int64_t stop_at = 100; stop_at < EVENTS; stop_at += 500) {
        w = (struct watched){.stop_at = stop_at, .kill_at = INT64_MAX};
        char *why = NULL;
        CHECK(open_watched(&w, 100, &why) == NULL);
        CHECK(why && strstr(why, "the next start goes on"));
        free(why);
        CHECK(w.first >= stop_at - 500 && w.first <= (stop_at == 100 ? 100 : stop_at - 400));
        CHECK_EQ_INT(w.last.events, stop_at);
        CHECK_EQ_INT(sql_number("PRAGMA user_version"), 2);
    }
    open_to_the_end(&w, 100);
    CHECK(w.first >= 2600);
    finish();
}

static void goes_on_where_it_was_killed(void)
{
    make_version_2();
    struct watched w = {.stop_at = INT64_MAX};
    for (w.kill_at = 50; w.kill_at < EVENTS; w.kill_at += 700) {
        pid_t child = fork();
        ASSERT(child >= 0);
        if (child == 0) {
            char *why = NULL;
            (void)open_watched(&w, 50, &why);
            _exit(0);
        }
        int status = 0;
        ASSERT(waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        CHECK_EQ_INT(sql_number("SELECT value FROM meta WHERE name='upgrade_events'"), w.kill_at);
    }
    open_to_the_end(&w, 50);
    CHECK(w.first >= 2850);
    finish();
}

/* An older program has run on it in between. */
static void begins_anew_when_events_have_changed(void)
{
    make_version_2();
    struct watched w = {.stop_at = 1000, .kill_at = INT64_MAX};
    char *why = NULL;
    CHECK(open_watched(&w, 500, &why) == NULL);
    free(why);
    run_sql("UPDATE event SET state=4 WHERE state=3 AND id&3=1;"
            "UPDATE meta SET value=value+1 WHERE name='generation'");
    open_to_the_end(&w, 500);
    CHECK_EQ_INT(w.first, 500);
    finish();
}

int main(void)
{
    RUN(slices_add_up);
    RUN(goes_on_where_it_was_stopped);
    RUN(goes_on_where_it_was_killed);
    RUN(begins_anew_when_events_have_changed);
    return check_done("sqlite_migrate");
}
