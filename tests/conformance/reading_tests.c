/* Reports, objects, erasing, numbers: what is read back, before and after a restart. */
#include "suite.h"

#include "base/buf.h"
#include "base/check.h"
#include "domain/clock.h"

#include <stdlib.h>

#define TODAY ((int32_t)(BASE_MS / DAY))

/* Rows as text: "day-offset client starts active conversions survey+offer earnings\n". */
static const char *report_text(struct subject *s, struct report_query q)
{
    static struct buf b;
    buf_clear(&b);
    if (q.limit == 0)
        q.limit = 1000;
    q.after_day = q.after_day ? q.after_day : INT32_MIN;
    subject_report(s, &q);
    for (size_t i = 0; i < q.count; i++) {
        const struct report_row *r = &q.rows[i];
        buf_printf(&b, "%d %u %lld %lld %lld+%lld %lld+%lld;", r->day - TODAY, r->client_no,
                   (long long)r->survey_starts, (long long)r->active_panelists,
                   (long long)r->conversions[0], (long long)r->conversions[1],
                   (long long)r->earnings_micros[0], (long long)r->earnings_micros[1]);
    }
    buf_add_c(&b, q.more ? "+" : "");
    free(q.rows);
    return buf_c(&b);
}

static struct report_query report_of(uint32_t account_no)
{
    return (struct report_query){
        .account_no = account_no, .first_day = TODAY - 400, .last_day = TODAY + 1};
}

static void check_reports(struct subject *s)
{
    struct report_query q = report_of(ACCOUNT_A);
    CHECK_CSTR(report_text(s, q), "-1 110 0 0 0+0 0+-1250000;"
                                  "0 110 3 2 1+1 1250000+1250000;"
                                  "0 120 0 0 0+0 0+0;");
    q.include_test = true;
    CHECK_CSTR(report_text(s, q), "-5 120 0 0 1+0 1250000+0;"
                                  "-1 110 0 0 0+0 0+-1250000;"
                                  "0 110 5 3 1+1 1250000+1250000;"
                                  "0 120 0 0 0+0 0+0;");
    q = report_of(ACCOUNT_A);
    uint32_t clients[] = {5, 120, 999};
    q.client_nos = clients;
    q.client_count = 3;
    CHECK_CSTR(report_text(s, q), "0 120 0 0 0+0 0+0;");
    q = report_of(ACCOUNT_A);
    q.first_day = q.last_day = TODAY - 1;
    CHECK_CSTR(report_text(s, q), "-1 110 0 0 0+0 0+-1250000;");
    q = report_of(ACCOUNT_A);
    q.limit = 2;
    CHECK_CSTR(report_text(s, q), "-1 110 0 0 0+0 0+-1250000;0 110 3 2 1+1 1250000+1250000;+");
    q.after_day = TODAY;
    q.after_client_no = 110;
    CHECK_CSTR(report_text(s, q), "0 120 0 0 0+0 0+0;");
    CHECK_CSTR(report_text(s, report_of(ACCOUNT_B)), "0 210 1 1 0+0 0+0;");
    CHECK_CSTR(report_text(s, report_of(3)), "");
}

static void reports_see_everything_acknowledged(struct subject *s)
{
    submit_traffic(s);
    check_reports(s);
    if (s->keeps) {
        subject_reopen(s);
        check_reports(s);
        /* Across the restart the same panelist is the same. */
        CHECK_EQ_INT(submit_one(s, item(EVENT_SURVEY_STARTED, "s-9")).kind, VERDICT_ACCEPTED);
        CHECK(strstr(report_text(s, report_of(ACCOUNT_A)), "0 110 4 2 1+1") != NULL);
    }
}

static struct report_row first_report_row(struct subject *s, bool include_test)
{
    struct report_query q = report_of(ACCOUNT_A);
    q.include_test = include_test;
    q.after_day = INT32_MIN;
    q.limit = 10;
    subject_report(s, &q);
    struct report_row row = q.count > 0 ? q.rows[0] : (struct report_row){0};
    CHECK_EQ_UINT(q.count, 1);
    free(q.rows);
    return row;
}

static void start_on(struct subject *s, uint32_t client_no, const char *id, const char *panelist,
                     int64_t at_ms, bool is_test)
{
    struct candidate c = item(EVENT_SURVEY_STARTED, id);
    c.client_no = client_no;
    c.panelist_id = str_of(panelist);
    c.occurred_ms = at_ms;
    c.is_test = is_test;
    c.deliver = false;
    CHECK_EQ_INT(submit_one(s, c).kind, VERDICT_ACCEPTED);
}

/* Moving in: a day of any age counts each panelist once, however often it is come back to, and
 * whoever was erased meanwhile. */
static void old_days_count_each_panelist_once(struct subject *s)
{
    int64_t t = BASE_MS - 200 * DAY;
    start_on(s, 110, "s-1", "ann", t, false);
    start_on(s, 110, "s-2", "bob", t + 1, false);
    start_on(s, 110, "s-3", "eve", t + 2, true);
    start_on(s, 111, "s-4", "ann", t + 3, false);
    CHECK_CSTR(report_text(s, report_of(ACCOUNT_A)), "-200 110 2 2 0+0 0+0;-200 111 1 1 0+0 0+0;");
    if (s->keeps)
        subject_reopen(s); /* what is too old goes at a start */
    start_on(s, 110, "s-5", "ann", t + 4, false);
    start_on(s, 110, "s-6", "dan", t + 5, false);
    start_on(s, 110, "s-7", "eve", t + 6, false); /* so far a test only */
    start_on(s, 111, "s-8", "ann", t + 7, true);
    CHECK_CSTR(report_text(s, report_of(ACCOUNT_A)), "-200 110 5 4 0+0 0+0;-200 111 1 1 0+0 0+0;");
    struct report_query tests = report_of(ACCOUNT_A);
    tests.include_test = true;
    CHECK_CSTR(report_text(s, tests), "-200 110 6 4 0+0 0+0;-200 111 2 1 0+0 0+0;");
    if (s->keeps)
        subject_reopen(s);
    int64_t erased = 0;
    CHECK_EQ_INT(subject_erase(s, ACCOUNT_A, "bob", &erased), STORE_OK);
    start_on(s, 110, "s-9", "bob", t + 8, false); /* a new one, for all that is known */
    start_on(s, 111, "s-10", "ann", t + 9, false);
    CHECK_CSTR(report_text(s, report_of(ACCOUNT_A)), "-200 110 6 5 0+0 0+0;-200 111 2 1 0+0 0+0;");
}

/* Paid or not; what is no survey, or no outcome of one, is none. */
static void outcomes_of_surveys_are_counted(struct subject *s)
{
    struct candidate items[10];
    size_t n = 0;
    items[n++] = item(EVENT_SURVEY_COMPLETED, "r-1");
    items[n] = item(EVENT_SURVEY_COMPLETED, "r-2");
    items[n++].revenue_micros = 0;
    items[n++] = item(EVENT_SURVEY_DISQUALIFIED, "d-1");
    items[n++] = item(EVENT_PROFILER_COMPLETED, "p-1");
    items[n] = item(EVENT_SURVEY_DISQUALIFIED, "d-2");
    items[n++].is_test = true;
    items[n++] = item(EVENT_AD_HOC, "a-1");
    items[n++] = item(EVENT_OFFER_CLICKED, "c-1");
    items[n++] = item(EVENT_OFFER_COMPLETED, "o-1");
    items[n++] = reversal("x-1", "o-1");
    struct verdict v[10];
    REQUIRE(subject_submit(s, items, n, BASE_MS, v) == STORE_OK);
    for (int round = 0; round < 2; round++) {
        CHECK_EQ_INT(first_report_row(s, false).survey_outcomes, 4);
        CHECK_EQ_INT(first_report_row(s, true).survey_outcomes, 5);
        CHECK_EQ_INT(first_report_row(s, true).survey_starts, 0);
        if (s->keeps)
            subject_reopen(s);
    }
}

static void add_object(void *context, enum object_kind kind, struct str id, struct str document)
{
    buf_printf(context, "%d/%.*s=%.*s;", (int)kind, STR_ARG(id), STR_ARG(document));
}

static bool has_object(struct subject *s, const char *want, size_t count)
{
    struct buf b = {0};
    store_visit_objects(s->store, add_object, &b);
    bool found = strstr(buf_c(&b), want) != NULL;
    size_t n = 0;
    for (size_t i = 0; i < b.n; i++)
        n += b.p[i] == ';';
    buf_free(&b);
    return found && n == count;
}

static void objects_are_kept(struct subject *s)
{
    CHECK_EQ_INT(subject_object(s, OBJECT_APP, "one", "{\"a\":1}"), STORE_OK);
    CHECK_EQ_INT(subject_object(s, OBJECT_KEY, "one", "{\"k\":1}"), STORE_OK);
    CHECK_EQ_INT(subject_object(s, OBJECT_APP, "two", "{}"), STORE_OK);
    CHECK_EQ_INT(subject_object(s, OBJECT_APP, "one", "{\"a\":2}"), STORE_OK);
    CHECK_EQ_INT(subject_object(s, OBJECT_APP, "two", NULL), STORE_OK);
    CHECK_EQ_INT(subject_object(s, OBJECT_APP, "two", NULL), STORE_NOT_FOUND);
    CHECK_EQ_INT(subject_object(s, OBJECT_APP, "never", NULL), STORE_NOT_FOUND);
    if (!s->keeps) {
        CHECK(has_object(s, "2/one={\"a\":2};", 2));
        return;
    }
    for (int round = 0; round < 2; round++) { /* visiting is for the start: right after opening */
        subject_reopen_unstarted(s);
        CHECK(has_object(s, "2/one={\"a\":2};", 2));
        CHECK(has_object(s, "4/one={\"k\":1};", 2));
        subject_start(s);
    }
}

/* A change and its parts: all or nothing, in order; what is only listed is never visited. */
static void objects_change_together(struct subject *s)
{
    const struct object_part made[] = {
        {OBJECT_SESSION, STR("s1"), STR("{}")},
        {OBJECT_AUDIT, STR("a.01"), STR("1")},
        {OBJECT_AUDIT, STR("a.02"), STR("2")},
        {OBJECT_AUDIT, STR("b.01"), STR("3")},
    };
    CHECK_EQ_INT(subject_object_with(s, OBJECT_USER, "u1", "{\"u\":1}", made, 4), STORE_OK);
    const struct object_part ended[] = {
        {OBJECT_SESSION, STR("s1"), STR_NONE},
        {OBJECT_SESSION, STR("never"), STR_NONE},
        {OBJECT_AUDIT, STR("a.03"), STR("4")},
    };
    CHECK_EQ_INT(subject_object_with(s, OBJECT_USER, "nobody", NULL, ended, 3), STORE_NOT_FOUND);
    /* by an account that has no events: seen at once all the same */
    CHECK_CSTR(subject_objects(s, OBJECT_AUDIT, "a.", "a/", 9), "a.02=2;a.01=1;");
    CHECK_CSTR(subject_objects(s, OBJECT_SESSION, "s", "t", 9), "s1={};");
    CHECK_EQ_INT(subject_object_with(s, OBJECT_USER, "u1", "{\"u\":2}", ended, 3), STORE_OK);
    for (int round = 0; round < (s->keeps ? 2 : 1); round++) {
        CHECK_CSTR(subject_objects(s, OBJECT_SESSION, "s", "t", 9), "");
        CHECK_CSTR(subject_objects(s, OBJECT_USER, "u", "v", 9), "u1={\"u\":2};");
        CHECK_CSTR(subject_objects(s, OBJECT_AUDIT, "a.", "a/", 2), "a.03=4;a.02=2;+");
        CHECK_CSTR(subject_objects(s, OBJECT_AUDIT, "a.", "a.02", 2), "a.01=1;");
        CHECK_CSTR(subject_objects(s, OBJECT_AUDIT, "a.02", "c", 3), "b.01=3;a.03=4;a.02=2;");
        if (s->keeps) {
            subject_reopen_unstarted(s);
            CHECK(has_object(s, "8/u1={\"u\":2};", 1));
            subject_start(s);
        }
    }
}

/* With what is sent again and what is erased, too: both or nothing. */
static void parts_go_with_resends_and_erasures(struct subject *s)
{
    const struct object_part one = {OBJECT_AUDIT, STR("a.1"), STR("resent")};
    const struct object_part two = {OBJECT_AUDIT, STR("a.2"), STR("erased")};
    const struct object_part never = {OBJECT_AUDIT, STR("a.3"), STR("never")};
    CHECK_EQ_INT(submit_one(s, item(EVENT_SURVEY_COMPLETED, "r-1")).kind, VERDICT_ACCEPTED);
    struct resend resend = {.account_no = ACCOUNT_A,
                            .event_id = STR("r-2"),
                            .now_ms = BASE_MS,
                            .parts = &never,
                            .part_count = 1};
    subject_ask_resend(s, &resend);
    CHECK_EQ_INT(resend.status, STORE_NOT_FOUND);
    resend.event_id = STR("r-1");
    resend.only_states = 1u << CALLBACK_DEAD;
    subject_ask_resend(s, &resend);
    CHECK_EQ_INT(resend.status, STORE_NOT_FOUND);
    resend.only_states = 0;
    resend.parts = &one;
    subject_ask_resend(s, &resend);
    CHECK_EQ_INT(resend.status, STORE_OK);
    struct erase erase = {
        .account_no = ACCOUNT_A, .panelist_id = STR("panelist"), .parts = &two, .part_count = 1};
    subject_ask_erase(s, &erase);
    CHECK_EQ_INT(erase.status, STORE_OK);
    CHECK_EQ_INT(erase.erased, 1);
    CHECK_CSTR(subject_objects(s, OBJECT_AUDIT, "a.", "a/", 9), "a.2=erased;a.1=resent;");
    if (!s->keeps)
        return;
    subject_reopen(s);
    CHECK_CSTR(subject_objects(s, OBJECT_AUDIT, "a.", "a/", 9), "a.2=erased;a.1=resent;");
}

static void erasing_leaves_the_money(struct subject *s)
{
    submit_traffic(s);
    struct outcome o = outcome_of(ACCOUNT_A, row_of(s, ACCOUNT_A, "r-1").event.event_no,
                                  LANE_SUCCESS, APP_A1, 1, CALLBACK_DELIVERED, 0);
    CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
    struct callback_row before = row_of(s, ACCOUNT_A, "r-1");
    REQUIRE(before.log_count == 1);
    CHECK(before.log[0].request_headers.p && before.log[0].response_headers.p);
    CHECK(before.log[0].response_body.p != NULL);
    int64_t erased = -1;
    CHECK_EQ_INT(subject_erase(s, ACCOUNT_A, "panelist", &erased), STORE_OK);
    CHECK_EQ_INT(erased, 10);
    check_reports(s);
    CHECK_CSTR(list_text(s, (struct callback_list){.panelist_id = STR("panelist")}), "");
    struct callback_row row = row_of(s, ACCOUNT_A, "r-1");
    CHECK(row.state == CALLBACK_DELIVERED && row.event.body.n == 0);
    CHECK(row.event.panelist_id.n > 0 && !str_is(row.event.panelist_id, "panelist"));
    CHECK(row.event.session_id.p == NULL && row.event.mid.p == NULL);
    CHECK_EQ_INT(row.event.revenue_micros, 1250000);
    REQUIRE(row.log_count == 1);
    CHECK(!row.log[0].request_headers.p && !row.log[0].response_headers.p);
    CHECK(!row.log[0].response_body.p);
    CHECK(row.log[0].status == 200 && row.log[0].duration_ms == 12);
    CHECK_EQ_INT(subject_erase(s, ACCOUNT_A, "panelist", &erased), STORE_OK);
    CHECK_EQ_INT(erased, 0);
    CHECK_EQ_INT(subject_erase(s, ACCOUNT_B, "nobody", &erased), STORE_OK);
    CHECK_EQ_INT(erased, 0);
    /* Later events of that name are a new panelist's. */
    CHECK_EQ_INT(submit_one(s, item(EVENT_SURVEY_COMPLETED, "r-9")).kind, VERDICT_ACCEPTED);
    CHECK_CSTR(list_text(s, (struct callback_list){.panelist_id = STR("panelist")}), "r-9");
}

/* Tries that were under way when their panelist was erased: what they came to is kept, without the
 * texts; nothing of it waits any more, resent or not. */
static void what_ends_after_erasing_keeps_no_texts(struct subject *s)
{
    static const char *const ids[] = {"r-1", "r-2", "r-3"};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        CHECK_EQ_INT(submit_one(s, item(EVENT_SURVEY_COMPLETED, ids[i])).kind, VERDICT_ACCEPTED);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "r-2", BASE_MS), STORE_OK);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "r-3", BASE_MS), STORE_OK);
    int64_t erased = -1;
    CHECK_EQ_INT(subject_erase(s, ACCOUNT_A, "panelist", &erased), STORE_OK);
    CHECK_EQ_INT(erased, 3);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "r-1", BASE_MS), STORE_ERASED);
    static const enum callback_state ends[] = {CALLBACK_PENDING, CALLBACK_DELIVERED, CALLBACK_DEAD};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct outcome o =
            outcome_of(ACCOUNT_A, i + 1, LANE_SUCCESS, APP_A1, 1, ends[i], BASE_MS + 5000);
        if (ends[i] == CALLBACK_PENDING) {
            o.attempt.class = ATTEMPT_REDIRECT;
            o.attempt.detail = STR("Answered 302: http://receiver.example/?user=panelist");
        }
        CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
    }
    static const enum callback_state want[] = {CALLBACK_SKIPPED, CALLBACK_DELIVERED, CALLBACK_DEAD};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct callback_row row = row_of(s, ACCOUNT_A, ids[i]);
        CHECK_EQ_INT(row.state, want[i]);
        REQUIRE(row.log_count == 1);
        CHECK(!row.log[0].request_headers.p && !row.log[0].response_headers.p);
        CHECK(!row.log[0].response_body.p);
        CHECK_EQ_INT(row.log[0].duration_ms, 12);
        CHECK_EQ_INT(row.log[0].detail.n > 0, i == 2); /* of a 503 */
    }
    struct due_page page = {.lane = lane_of(APP_A1, LANE_SUCCESS),
                            .due_until_ms = BASE_MS + DAY,
                            .limit = LIMIT_PAGE_CALLBACKS};
    subject_page(s, &page);
    CHECK_EQ_UINT(page.count, 0);
    drop_callbacks(page.items, page.count);
}

static void numbers_add_up(struct subject *s)
{
    submit_traffic(s);
    struct store_numbers n = subject_numbers(s, 5, 0, 0, BASE_MS);
    CHECK_EQ_INT(n.events_accepted, 13);
    CHECK_EQ_INT(n.callbacks_pending, 5);
    CHECK_EQ_INT(n.oldest_pending_ms, BASE_MS);
    CHECK(n.accepting && !n.failed);
    uint64_t no = row_of(s, ACCOUNT_A, "r-1").event.event_no;
    struct outcome o = outcome_of(ACCOUNT_A, no, LANE_SUCCESS, APP_A1, 1, CALLBACK_DEAD, 0);
    CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
    n = subject_numbers(s, 4, 0, 1, NUMBERS_ANY);
    CHECK_EQ_INT(n.callbacks_dead, 1);
    CHECK_EQ_INT(n.callbacks_delivered, 0);
    CHECK_EQ_INT(n.callbacks_pending, 4);
    CHECK(n.commits >= 2);
}

static void duplicates_survive(struct subject *s)
{
    submit_traffic(s);
    if (s->keeps)
        subject_reopen(s);
    CHECK_EQ_INT(submit_one(s, item(EVENT_SURVEY_COMPLETED, "r-1")).kind, VERDICT_DUPLICATE);
    struct candidate c = item(EVENT_SURVEY_COMPLETED, "r-1");
    c.revenue_micros++;
    CHECK_EQ_INT(submit_one(s, c).kind, VERDICT_CONFLICT);
    CHECK_EQ_INT(submit_one(s, reversal("x-2", "o-1")).kind, VERDICT_ALREADY_REVERSED);
    struct verdict v = submit_one(s, item(EVENT_SURVEY_COMPLETED, "r-2"));
    CHECK_EQ_INT(v.kind, VERDICT_ACCEPTED);
    CHECK_EQ_UINT(v.event_no, 13); /* numbers go on without a gap */
    if (s->keeps)
        subject_reopen(s);
    CHECK_EQ_INT(submit_one(s, item(EVENT_SURVEY_COMPLETED, "r-2")).kind, VERDICT_DUPLICATE);
}

void run_reading_tests(void)
{
    RUN_FRESH(reports_see_everything_acknowledged);
    RUN_FRESH(old_days_count_each_panelist_once);
    RUN_FRESH(outcomes_of_surveys_are_counted);
    RUN_FRESH(objects_are_kept);
    RUN_FRESH(objects_change_together);
    RUN_FRESH(parts_go_with_resends_and_erasures);
    RUN_FRESH(erasing_leaves_the_money);
    RUN_FRESH(what_ends_after_erasing_keeps_no_texts);
    RUN_FRESH(numbers_add_up);
    RUN_FRESH(duplicates_survive);
}
