/* Stores of former versions: made by turning a present one back, in SQL, to what the version
 * wrote. They open, what they hold is found, and new things go beside it. */
#include "sqlite_store.h"

#include "sqlite_old.h"

#include "domain/clock.h"

static void close_store(void)
{
    store_close(store);
    store = NULL;
}

/* Version 5 had a row for each attempt and for each body. Event number 1's are the older ones. */
static void to_version_5(void)
{
    char text[2048];
    int day = clock_day(NOW_MS);
    keys_to_rows();
    snprintf(text, sizeof text,
             "CREATE TABLE body_1(id INTEGER PRIMARY KEY, body BLOB NOT NULL);"
             "INSERT INTO body_1 SELECT id, hex(zeroblob(150)) FROM event;"
             "DROP TABLE bodies_1; UPDATE segment SET has_bodies=1;"
             "DROP TABLE attempts_%d;"
             "CREATE TABLE attempt_%d(id INT, number INT, at_ms INT,"
             " manual INT, duration_ms INT, status INT, class INT, url TEXT, detail TEXT,"
             " request_headers TEXT, response_headers TEXT, response_body BLOB,"
             " PRIMARY KEY(id, number, at_ms)) WITHOUT ROWID;"
             "INSERT INTO attempt_%d SELECT id,1,%lld,0,7,500,10,'http://old/','it said old',"
             "'A: b'||char(10),NULL,x'006f6c64' FROM event WHERE id & 0xffffffffff = 1;",
             day, day, day, (long long)NOW_MS);
    run_sql(text);
}

static void reads_attempts_of_version_5(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    record(1, LANE_SUCCESS, CALLBACK_PENDING, NOW_MS + 5000, 1);
    close_store();
    to_version_5();
    reopen();
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 2);
    struct callback_get g = get("e-1");
    CHECK_EQ_INT(g.status, STORE_OK);
    CHECK_EQ_UINT(g.row.log_count, 2);
    if (g.row.log_count == 2) {
        CHECK_EQ_INT(g.row.log[0].number, 1);
        CHECK_STR(g.row.log[0].detail, "it said old");
        CHECK_STR(g.row.log[0].request_headers, "A: b\n");
        CHECK_BYTES(g.row.log[0].response_body.p, g.row.log[0].response_body.n, "\0old", 4);
        CHECK_EQ_INT(g.row.log[1].number, 2);
    }
    arena_free(&g.arena);
    end();
}

static void reads_bodies_of_version_5(void)
{
    begin();
    struct due_page p;
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    record(1, LANE_SUCCESS, CALLBACK_PENDING, NOW_MS + 5000, 1);
    close_store();
    to_version_5();
    reopen();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann");
    (void)report(false);
    for (int round = 0; round < 2; round++) {
        struct callback_get g = get("e-1");
        CHECK_EQ_UINT(g.row.event.body.n, 300);
        arena_free(&g.arena);
        g = get("e-2");
        CHECK(g.row.event.body.n > 50 && g.row.event.body.p[0] == '{');
        arena_free(&g.arena);
        CHECK_CSTR(page(LANE_SUCCESS, NOW_MS + 5000, &p), "2 1");
        reopen();
    }
    CHECK_EQ_INT(submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann").kind, VERDICT_DUPLICATE);
    end();
}

static void erases_attempts_of_both(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    record(1, LANE_SUCCESS, CALLBACK_PENDING, NOW_MS + 5000, 1);
    close_store();
    to_version_5();
    reopen();
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 2);
    struct erase e = {.account_no = terms.account_no, .panelist_id = STR("ann")};
    ASK(store_erase, store, &e);
    CHECK_EQ_INT(e.erased, 1);
    struct callback_get g = get("e-1");
    CHECK(!g.row.event.body.p);
    CHECK_EQ_UINT(g.row.log_count, 2);
    for (size_t i = 0; i < g.row.log_count; i++) {
        CHECK(!g.row.log[i].request_headers.p && !g.row.log[i].response_body.p);
        CHECK(g.row.log[i].url.n > 0);
    }
    arena_free(&g.arena);
    end();
}

static void purges_attempts_of_both(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    record(1, LANE_SUCCESS, CALLBACK_PENDING, NOW_MS + 5000, 1);
    close_store();
    to_version_5();
    reopen();
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 2);
    wall_now_ms = NOW_MS + 200 * DAY_MS;
    reopen();
    /* The applier purges before it applies, and a read after a change waits for it. */
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann");
    struct callback_get g = get("e-1");
    CHECK_EQ_INT(g.status, STORE_OK);
    CHECK_EQ_UINT(g.row.log_count, 0);
    arena_free(&g.arena);
    reopen(); /* by now the segment is closed, and its bodies may go */
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-3", "ann");
    g = get("e-1");
    CHECK(!g.row.event.body.p);
    arena_free(&g.arena);
    wall_now_ms = NOW_MS;
    end();
}

/* Version 3 counted no outcomes of surveys, and took it for granted that clocks go on. */
static void counts_on_from_version_3(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    (void)submit_new(EVENT_SURVEY_DISQUALIFIED, "d-2", "ann");
    close_store();
    to_version_8();
    run_sql("DROP INDEX event_search; DROP TABLE intraday; ALTER TABLE report DROP COLUMN "
            "live_outcomes;"
            "ALTER TABLE report DROP COLUMN test_outcomes;"
            "DROP TABLE accepted_back; CREATE INDEX cap_by_time ON cap(occurred_ms);"
            "DELETE FROM meta WHERE name='latest_accepted_ms'; PRAGMA user_version=3");
    reopen();
    CHECK_EQ_INT(report(false).survey_outcomes, 1); /* of the past only conversions are known */
    (void)submit_at(make(EVENT_SURVEY_DISQUALIFIED, "d-3", "ann"), NOW_MS - DAY_MS);
    CHECK_EQ_INT(report(false).survey_outcomes, 2);
    CHECK_EQ_INT(report(false).conversions[0], 1);
    struct callback_list l = {
        .account_no = terms.account_no, .has_to = true, .accepted_to_ms = NOW_MS, .limit = 10};
    ASK(store_list_callbacks, store, &l);
    CHECK_EQ_UINT(l.count, 1);
    if (l.count > 0)
        CHECK_STR(l.rows[0].event.event_id, "d-3");
    arena_free(&l.arena);
    end();
}

static struct intraday_query intraday_of(int64_t at_ms)
{
    struct intraday_query q = {.account_no = terms.account_no, .day = clock_day(at_ms)};
    ASK(store_intraday, store, &q);
    CHECK_EQ_INT(q.status, STORE_OK);
    return q;
}

/* Version 7 counted no slots: of the days that are there already, nobody knows all. */
static void slots_are_whole_from_the_next_day_on(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    (void)report(false);
    CHECK(intraday_of(NOW_MS).complete);
    close_store();
    to_version_8();
    run_sql("DROP INDEX event_search; DROP TABLE intraday; PRAGMA user_version=7");
    reopen();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann");
    struct intraday_query q = intraday_of(NOW_MS);
    CHECK(!q.complete);
    CHECK_EQ_INT(q.slots[48].conversions, 1);
    CHECK(intraday_of(NOW_MS + DAY_MS).complete);
    end();
}

/* Counted as an index over the events that wait would find them. */
static void check_waiting(int64_t count)
{
    CHECK_EQ_INT(sql_number("SELECT coalesce(sum(count),0) FROM waiting"), count);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM (SELECT segment,accepted_ms,count(*) FROM event"
                            " WHERE state=1 GROUP BY 1,2 EXCEPT SELECT * FROM waiting)"),
                 0);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM waiting WHERE count<1"), 0);
}

/* Until version 9 an index had them. */
static void counts_what_waited_in_version_8(void)
{
    struct store_numbers n;
    begin();
    for (int i = 1; i <= 4; i++) {
        char id[8];
        snprintf(id, sizeof id, "e-%d", i);
        (void)submit_new(EVENT_SURVEY_COMPLETED, id, i == 4 ? "bob" : "ann");
        record((uint64_t)i, LANE_SUCCESS, CALLBACK_PENDING, NOW_MS + 5000, 1);
    }
    close_store();
    check_waiting(4);
    to_version_8();
    reopen();
    store_get_numbers(store, &n);
    CHECK_EQ_INT(n.oldest_pending_ms, NOW_MS);
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 2);
    record(2, LANE_SUCCESS, CALLBACK_DEAD, 0, 2);
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-5", "ann"); /* and gone within its memtable */
    record(5, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    close_store();
    check_waiting(2);
    reopen();
    struct erase e = {.account_no = terms.account_no, .panelist_id = STR("bob")};
    ASK(store_erase, store, &e);
    CHECK_EQ_INT(e.erased, 1);
    close_store();
    check_waiting(1);
    reopen();
    record(3, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 2);
    close_store();
    check_waiting(0);
    reopen();
    store_get_numbers(store, &n);
    CHECK_EQ_INT(n.oldest_pending_ms, 0);
    end();
}

int main(void)
{
    RUN(counts_on_from_version_3);
    RUN(slots_are_whole_from_the_next_day_on);
    RUN(counts_what_waited_in_version_8);
    RUN(reads_attempts_of_version_5);
    RUN(reads_bodies_of_version_5);
    RUN(erases_attempts_of_both);
    RUN(purges_attempts_of_both);
    return check_done("sqlite_upgrade");
}
