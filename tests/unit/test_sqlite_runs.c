/* A store whose keys and panelists lie in many runs, in several segments and in both forms: what
 * it answers is what it would answer of one. */
#include "sqlite_store.h"

#include "sqlite_sql.h"
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
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM run WHERE segment<3"), 2);
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

int main(void)
{
    RUN(small_memtables_leave_few_runs);
    RUN(a_closed_segment_has_one_run);
    RUN(a_segment_that_runs_out_of_numbers_is_closed);
    RUN(a_damaged_block_is_no_unknown_key);
    RUN(the_first_question_after_a_start_is_answered);
    return check_done("sqlite_runs");
}
