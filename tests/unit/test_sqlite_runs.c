/* A store whose keys and panelists lie in many runs, in several segments and in bundles: what it
 * answers is what it would answer of one. */
#include "sqlite_store.h"

#include <time.h>

#include "sqlite_sql.h"
#include "store/sqlite/bundle.h"
#include "store/sqlite/run.h"

static const char *name_of(int event)
{
    static char name[32];
    snprintf(name, sizeof name, "e-%d", event);
    return name;
}

/* Events of three panelists, each in a memtable of its own. */
static const char *const panelists[] = {"ann", "bob", "eve"};

static void submit_events(int from, int to, int64_t received_ms)
{
    for (int i = from; i < to; i++) {
        struct verdict v =
            submit_at(make(EVENT_SURVEY_COMPLETED, name_of(i), panelists[i % 3]), received_ms);
        CHECK_EQ_INT(v.kind, VERDICT_ACCEPTED);
        (void)report(false); /* and so it is in SQLite */
    }
}

static void check_known(int to, int64_t received_ms)
{
    for (int i = 0; i < to; i++) {
        struct candidate again = make(EVENT_SURVEY_COMPLETED, name_of(i), panelists[i % 3]);
        struct candidate other = make(EVENT_SURVEY_COMPLETED, name_of(i), "joe");
        CHECK_EQ_INT(submit_at(again, received_ms).kind, VERDICT_DUPLICATE);
        CHECK_EQ_INT(submit_at(other, received_ms).kind, VERDICT_CONFLICT);
        struct callback_get g = get(name_of(i));
        CHECK_EQ_INT(g.status, STORE_OK);
        CHECK_STR(g.row.event.event_id, name_of(i));
        arena_free(&g.arena);
    }
}

/* Reads all pages of a search; the events' numbers are i + 1. */
static void check_search(int panelist, int to, enum list_order order, uint32_t limit)
{
    bool newest = order == LIST_NEWEST_FIRST;
    uint64_t after = 0;
    int count = 0, expected = newest ? to - 1 : 0, step = newest ? -1 : 1;
    for (bool more = true; more;) {
        struct callback_list l = {.account_no = terms.account_no,
                                  .panelist_id = str_of(panelists[panelist]),
                                  .order = order,
                                  .after_event_no = after,
                                  .limit = limit};
        ASK(store_list_callbacks, store, &l);
        CHECK_EQ_INT(l.status, STORE_OK);
        CHECK(l.count > 0 && l.count <= limit);
        for (size_t i = 0; i < l.count; i++, expected += step, count++) {
            while (expected % 3 != panelist)
                expected += step;
            after = l.rows[i].event.event_no;
            CHECK_EQ_UINT(after, (uint64_t)expected + 1);
        }
        more = l.more && l.count > 0;
        arena_free(&l.arena);
    }
    CHECK_EQ_INT(count, (to - panelist + 2) / 3);
}

static void check_searches(int to)
{
    static const uint32_t limits[] = {1, 7, 1000};
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        check_search((int)i, to, LIST_NEWEST_FIRST, limits[i]);
        check_search((int)i, to, LIST_OLDEST_FIRST, limits[i]);
    }
}

static int64_t erase(const char *panelist)
{
    struct erase e = {.account_no = terms.account_no, .panelist_id = str_of(panelist)};
    ASK(store_erase, store, &e);
    CHECK_EQ_INT(e.status, STORE_OK);
    return e.erased;
}

static size_t listed_of(const char *panelist)
{
    struct callback_list l = {
        .account_no = terms.account_no, .panelist_id = str_of(panelist), .limit = 1000};
    ASK(store_list_callbacks, store, &l);
    arena_free(&l.arena);
    return l.count;
}

static void small_memtables_leave_few_runs(void)
{
    begin();
    submit_events(0, 300, NOW_MS);
    int64_t runs = sql_number("SELECT count(*) FROM run");
    CHECK(runs > 1 && runs < 48);
    CHECK_EQ_INT(sql_number("SELECT sum(events) FROM run"), 300);
    check_known(300, NOW_MS);
    check_searches(300);
    reopen();
    check_known(300, NOW_MS);
    end();
}

static void a_closed_segment_has_one_run(void)
{
    begin();
    submit_events(0, 50, NOW_MS);
    submit_events(50, 70, NOW_MS + 31 * DAY_MS);
    submit_events(70, 80, NOW_MS + 63 * DAY_MS);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM segment"), 3);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM run WHERE set_no<3"), 2);
    CHECK_EQ_INT(sql_number("SELECT sum(length(filter)>0) FROM segment"), 2);
    check_known(80, NOW_MS + 63 * DAY_MS);
    check_searches(80);
    reopen();
    check_known(80, NOW_MS + 63 * DAY_MS);
    CHECK_EQ_INT(erase("bob"), 27);
    CHECK_EQ_UINT(listed_of("bob"), 0);
    /* A search judges by the event's text: the hash must go all the same. */
    CHECK_EQ_INT(sql_number("SELECT sum(length(block))/16 FROM (SELECT * FROM panelists_1"
                            " UNION ALL SELECT * FROM panelists_2"
                            " UNION ALL SELECT * FROM panelists_3)"),
                 80 - 27);
    check_search(0, 80, LIST_NEWEST_FIRST, 7);
    check_search(2, 80, LIST_OLDEST_FIRST, 7);
    end();
}

static void a_segment_that_runs_out_of_numbers_is_closed(void)
{
    begin();
    submit_events(0, 20, NOW_MS);
    store_close(store);
    store = NULL;
    char text[80];
    snprintf(text, sizeof text, "INSERT INTO run VALUES(1,%u,0)", RUN_NO_MOST);
    run_sql(text);
    reopen();
    submit_events(20, 40, NOW_MS);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM segment"), 2);
    CHECK(sql_number("SELECT min(id) FROM keys_1") > 0);
    check_known(40, NOW_MS);
    check_searches(40);
    reopen();
    check_known(40, NOW_MS);
    end();
}

static void a_damaged_block_is_no_unknown_key(void)
{
    begin();
    submit_events(0, 1, NOW_MS);
    store_close(store);
    store = NULL;
    run_sql("UPDATE keys_1 SET block=substr(block,1,31)");
    reopen();
    struct candidate again = make(EVENT_SURVEY_COMPLETED, name_of(0), panelists[0]);
    struct intake_batch batch = {.items = &again, .count = 1, .received_ms = NOW_MS};
    ASK(store_submit, store, &batch);
    CHECK_EQ_INT(batch.status, STORE_FAILED);
    arena_free(&batch.arena);
    struct store_numbers numbers;
    store_get_numbers(store, &numbers);
    CHECK(numbers.failed);
    end();
}

/* Filters are loaded by whoever asks first after a start, so each asks first once. */
static void the_first_question_after_a_start_is_answered(void)
{
    begin();
    submit_events(0, 5, NOW_MS);
    struct candidate again = make(EVENT_SURVEY_COMPLETED, name_of(1), panelists[1]);
    struct candidate other = make(EVENT_SURVEY_COMPLETED, name_of(1), "joe");
    reopen();
    CHECK_EQ_INT(submit(again).kind, VERDICT_DUPLICATE);
    reopen();
    CHECK_EQ_INT(submit(other).kind, VERDICT_CONFLICT);
    reopen();
    struct callback_get g = get(name_of(0));
    CHECK_EQ_INT(g.status, STORE_OK);
    arena_free(&g.arena);
    reopen();
    struct callback_list l = {
        .account_no = terms.account_no, .event_id = str_of(name_of(2)), .limit = 1};
    ASK(store_list_callbacks, store, &l);
    CHECK_EQ_UINT(l.count, 1);
    arena_free(&l.arena);
    reopen();
    struct resend r = {
        .account_no = terms.account_no, .event_id = str_of(name_of(3)), .now_ms = NOW_MS};
    ASK(store_resend, store, &r);
    CHECK(r.status != STORE_NOT_FOUND);
    reopen();
    submit_events(5, 6, NOW_MS); /* an event, and then its memtable, which has been applied */
    check_known(6, NOW_MS);
    end();
}

/* --- bundles ---------------------------------------------------------------------------------- */

#define MONTH_MS (31 * DAY_MS)
#define EVENTS_A_MONTH 6
#define MONTHS ((int)BUNDLE_SEGMENTS) /* with a segment each: they become a bundle */
#define MEMTABLES 8                   /* until a bundle is asked */

static int64_t steps_done(void)
{
    return sql_number("SELECT coalesce(sum(steps),0) FROM bundle");
}

static void until_steps(int64_t steps)
{
    for (int i = 0; i < 60000 && steps_done() < steps; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    CHECK_EQ_INT(steps_done(), steps);
}

/* Each month has a segment of its own. */
static void submit_months(int from, int to)
{
    for (int month = from; month < to; month++)
        submit_events(month * EVENTS_A_MONTH, (month + 1) * EVENTS_A_MONTH,
                      NOW_MS + month * MONTH_MS);
}

/* The first event of month 8 closes the last of 8 segments: they are merged as soon as nothing
 * else is to do, and their tables dropped once the writer has loaded the bundle's filters, some
 * with each memtable. */
static int make_bundle(void)
{
    int first = MONTHS * EVENTS_A_MONTH;
    begin();
    submit_months(0, MONTHS);
    submit_events(first, first + 1, NOW_MS + MONTHS * MONTH_MS);
    until_steps(bundle_merge_steps(1));
    check_known(first + 1, NOW_MS + MONTHS * MONTH_MS);
    submit_events(first + 1, first + 1 + MEMTABLES, NOW_MS + (MONTHS + 1) * MONTH_MS);
    until_steps(bundle_steps(1));
    return first + 1 + MEMTABLES;
}

static void closed_segments_become_a_bundle(void)
{
    int all = make_bundle();
    int64_t last_ms = NOW_MS + (MONTHS + 1) * MONTH_MS;
    struct store_numbers numbers;
    store_get_numbers(store, &numbers);
    CHECK(numbers.filter_bytes < 2 * (LIMIT_KEYS_PER_SEGMENT + 4 * LIMIT_MEMTABLE_EVENTS) * 24 / 8);
    CHECK(numbers.mapped_filter_bytes > 0);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM sqlite_schema WHERE name GLOB 'keys_*'"), 3);
    check_known(all, last_ms);
    check_searches(all);
    reopen();
    check_known(all, last_ms);
    check_searches(all);
    CHECK_EQ_INT(erase("bob"), all / 3);
    CHECK_EQ_UINT(listed_of("bob"), 0);
    CHECK_EQ_INT(sql_number("SELECT sum(length(block))/16 FROM panelists_1000001"), 2 * MONTHS * 2);
    CHECK_EQ_INT(sql_number("SELECT sum(length(block))/32 FROM keys_1000001"),
                 MONTHS * EVENTS_A_MONTH);
    check_search(0, all, LIST_NEWEST_FIRST, 7);
    CHECK_EQ_INT(submit_at(make(EVENT_SURVEY_COMPLETED, name_of(0), "ann"), last_ms).kind,
                 VERDICT_DUPLICATE);
    end();
}

/* Bodies lie in segments, whatever has their keys. */
static void whoever_is_erased_in_a_bundle_has_no_body(void)
{
    int all = make_bundle();
    CHECK_EQ_INT(erase("eve"), all / 3);
    struct callback_get g = get(name_of(2));
    CHECK_EQ_INT(g.status, STORE_OK);
    CHECK(g.row.event.is_erased && g.row.event.body.n == 0);
    arena_free(&g.arena);
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM event WHERE state=1"), all * 2 / 3);
    CHECK_EQ_INT(sql_number("SELECT sum(count) FROM waiting"), all * 2 / 3);
    end();
}

/* Only a look-up of the damaged key ends the store, as without bundles. */
static void a_damaged_segment_ends_no_store_by_its_bundle(void)
{
    begin();
    submit_months(0, MONTHS);
    store_close(store);
    store = NULL;
    run_sql("UPDATE keys_3 SET block=substr(block,1,31)");
    reopen();
    int first = MONTHS * EVENTS_A_MONTH;
    for (int i = 0; i < 3; i++)
        submit_events(first + i, first + i + 1, NOW_MS + (MONTHS + i) * MONTH_MS);
    struct store_numbers numbers;
    store_get_numbers(store, &numbers);
    CHECK(!numbers.failed);
    CHECK_EQ_INT(steps_done(), 0);
    end();
}

int main(void)
{
    RUN(closed_segments_become_a_bundle);
    RUN(whoever_is_erased_in_a_bundle_has_no_body);
    RUN(a_damaged_segment_ends_no_store_by_its_bundle);
    RUN(small_memtables_leave_few_runs);
    RUN(a_closed_segment_has_one_run);
    RUN(a_segment_that_runs_out_of_numbers_is_closed);
    RUN(a_damaged_block_is_no_unknown_key);
    RUN(the_first_question_after_a_start_is_answered);
    return check_done("sqlite_runs");
}
