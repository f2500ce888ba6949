/* Statements and what happened on a day: on time, late, ahead of its day, and before 1970. The
 * digests were computed by another program from the lines in the comments. */
#include "suite.h"

#include "base/buf.h"

#include <stdlib.h>

#define TODAY ((int32_t)(BASE_MS / DAY))

static const char *statement_text(struct subject *s, uint32_t account_no, int32_t day)
{
    static struct buf b;
    buf_clear(&b);
    struct statement_query q = {.account_no = account_no, .day = day};
    subject_statement(s, &q);
    CHECK_EQ_INT(q.status, STORE_OK);
    for (size_t i = 0; i < q.count; i++) {
        const struct statement_app *app = &q.apps[i];
        buf_printf(&b, "%u/%u ", app->app_no, app->reward_digits);
        buf_add_hex(&b, app->digest, STATEMENT_DIGEST_BYTES);
        for (int t = 0; t <= EVENT_TYPE_LAST; t++)
            for (int c = 0; c <= CALLBACK_SKIPPED; c++)
                if (app->sums[t][c].count > 0)
                    buf_printf(&b, " %d.%d=%lld,%lld,%lld", t, c, (long long)app->sums[t][c].count,
                               (long long)app->sums[t][c].reward_micros,
                               (long long)app->sums[t][c].revenue_micros);
        buf_add_c(&b, ";");
    }
    free(q.apps);
    return buf_c(&b);
}

/* Received in this order: yesterday, today, tomorrow. */
static void submit_days(struct subject *s)
{
    struct candidate gift = item(EVENT_AD_HOC, "h-1");
    gift.reward_micros = 3500000;
    accept_at(s, gift, BASE_MS, BASE_MS - DAY);
    struct candidate test = item(EVENT_SURVEY_COMPLETED, "t-1");
    test.is_test = true;
    accept_at(s, test, BASE_MS, BASE_MS);
    accept_at(s, item(EVENT_SURVEY_STARTED, "s-1"), BASE_MS, BASE_MS);
    accept_at(s, item(EVENT_SURVEY_COMPLETED, "r-1"), BASE_MS, BASE_MS);
    accept_at(s, item(EVENT_OFFER_COMPLETED, "o-1"), TODAY * DAY, BASE_MS);
    accept_at(s, item(EVENT_OFFER_CLICKED, "c-1"), TODAY * DAY + DAY - 1, BASE_MS);
    accept_at(s, item(EVENT_OFFER_CLICKED, "c-0"), TODAY * DAY - 1, BASE_MS);
    accept_at(s, item_of(APP_A2, EVENT_PROFILER_COMPLETED, "p-1"), BASE_MS, BASE_MS);
    accept_at(s, item_of(APP_B1, EVENT_SURVEY_COMPLETED, "b-1"), BASE_MS, BASE_MS);
    accept_at(s, item_of(APP_B1, EVENT_SURVEY_COMPLETED, "b-0"), -1, BASE_MS);
    accept_at(s, item(EVENT_SURVEY_DISQUALIFIED, "d-1"), BASE_MS, BASE_MS + DAY);
    accept_at(s, item(EVENT_SURVEY_COMPLETED, "R-2"), BASE_MS, BASE_MS + DAY);
    accept_at(s, reversal("x-1", "o-1"), BASE_MS, BASE_MS + DAY);
    accept_at(s, item_of(APP_A2, EVENT_SURVEY_COMPLETED, "q-1"), BASE_MS, BASE_MS + DAY);
}

static void check_statements(struct subject *s)
{
    /* R-2 125.00 1.25, c-1 0.00 0.00, d-1 0.50 0.00, h-1 3.50 0.00, o-1 125.00 1.25,
     * r-1 125.00 1.25, x-1 -125.00 -1.25; app A2: p-1 0 0.00, q-1 2 1.25 */
    CHECK_CSTR(statement_text(s, ACCOUNT_A, TODAY),
               "11/2 76b59c052072a58a4c021144dd1696e8cd03adec3002f231a2c5521f8137f25c"
               " 2.1=1,125000000,1250000 2.3=1,125000000,1250000 3.1=1,500000,0"
               " 5.1=1,3500000,0 6.1=1,125000000,1250000 7.1=1,0,0"
               " 8.1=1,-125000000,-1250000;"
               "12/0 231b07e8ea3f11a42eec97b43ca88de65ced040d1dea872f39f3c16fa5ad50e0"
               " 2.5=1,2000000,1250000 4.5=1,0,0;");
    /* b-1 1.25 1.25, and one of the last millisecond of 1969: b-0 1.25 1.25 */
    CHECK_CSTR(statement_text(s, ACCOUNT_B, TODAY),
               "21/2 50e2d13f0b36a9ecf1c1f406e8013e3cfd8525f5e79865e3f9cbf15bea218c49"
               " 2.1=1,1250000,1250000;");
    CHECK(strstr(statement_text(s, ACCOUNT_B, -1), " 2.1=1,1250000,1250000;") != NULL);
    CHECK_CSTR(statement_text(s, ACCOUNT_B, 0), "");
    CHECK_CSTR(statement_text(s, ACCOUNT_A, TODAY + 1), "");
    CHECK_CSTR(statement_text(s, 3, TODAY), "");
}

static void statements_have_the_whole_day(struct subject *s)
{
    submit_days(s);
    uint64_t no = row_of(s, ACCOUNT_A, "r-1").event.event_no;
    struct outcome o = outcome_of(ACCOUNT_A, no, LANE_SUCCESS, APP_A1, 1, CALLBACK_DELIVERED, 0);
    CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
    check_statements(s);
    if (s->keeps) {
        subject_reopen(s);
        check_statements(s);
    }
}

static void statements_outlive_erasing(struct subject *s)
{
    submit_days(s);
    int64_t erased = 0;
    CHECK_EQ_INT(subject_erase(s, ACCOUNT_B, "panelist", &erased), STORE_OK);
    CHECK_CSTR(statement_text(s, ACCOUNT_B, TODAY),
               "21/2 50e2d13f0b36a9ecf1c1f406e8013e3cfd8525f5e79865e3f9cbf15bea218c49"
               " 2.5=1,1250000,1250000;");
}

static const char *day_text(struct subject *s, enum list_order order, uint32_t limit,
                            const char *after)
{
    static struct buf b;
    buf_clear(&b);
    struct callback_list l = {
        .account_no = ACCOUNT_A, .order = order, .limit = limit, .of_day = true, .day = TODAY};
    if (after)
        l.after_event_no = row_of(s, ACCOUNT_A, after).event.event_no;
    subject_list(s, &l);
    for (size_t i = 0; i < l.count; i++)
        buf_printf(&b, "%.*s ", STR_ARG(l.rows[i].event.event_id));
    buf_add_c(&b, l.more ? "+" : "");
    arena_free(&l.arena);
    return buf_c(&b);
}

static void a_day_is_listed_in_order_of_acceptance(struct subject *s)
{
    submit_days(s);
    CHECK_CSTR(day_text(s, LIST_OLDEST_FIRST, 50, NULL),
               "h-1 t-1 r-1 o-1 c-1 p-1 d-1 R-2 x-1 q-1 ");
    CHECK_CSTR(day_text(s, LIST_NEWEST_FIRST, 50, NULL),
               "q-1 x-1 R-2 d-1 p-1 c-1 o-1 r-1 t-1 h-1 ");
    CHECK_CSTR(day_text(s, LIST_OLDEST_FIRST, 2, NULL), "h-1 t-1 +");
    CHECK_CSTR(day_text(s, LIST_OLDEST_FIRST, 2, "t-1"), "r-1 o-1 +");
    CHECK_CSTR(day_text(s, LIST_OLDEST_FIRST, 4, "p-1"), "d-1 R-2 x-1 q-1 ");
    CHECK_CSTR(day_text(s, LIST_NEWEST_FIRST, 3, "R-2"), "d-1 p-1 c-1 +");
}

static const char *count_text(struct subject *s, uint32_t app_no, unsigned states, int64_t from_ms,
                              int64_t to_ms)
{
    static struct buf b;
    buf_clear(&b);
    struct callback_count c = {.account_no = ACCOUNT_A,
                               .app_no = app_no,
                               .states = states,
                               .accepted_from_ms = from_ms,
                               .accepted_to_ms = to_ms};
    subject_count(s, &c);
    CHECK_EQ_INT(c.status, STORE_OK);
    for (size_t i = 0; i < c.count; i++)
        buf_printf(&b, "%u=%lld ", c.apps[i].app_no, (long long)c.apps[i].count);
    free(c.apps);
    return buf_c(&b);
}

static void callbacks_are_counted_by_app(struct subject *s)
{
    unsigned pending = 1u << CALLBACK_PENDING, skipped = 1u << CALLBACK_SKIPPED;
    unsigned delivered = 1u << CALLBACK_DELIVERED;
    submit_days(s);
    uint64_t no = row_of(s, ACCOUNT_A, "r-1").event.event_no;
    struct outcome o = outcome_of(ACCOUNT_A, no, LANE_SUCCESS, APP_A1, 1, CALLBACK_DELIVERED, 0);
    CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
    CHECK_CSTR(count_text(s, 0, pending | skipped, 0, BASE_MS + 2 * DAY), "11=8 12=2 ");
    CHECK_CSTR(count_text(s, 0, pending | skipped | delivered, 0, BASE_MS + DAY), "11=6 12=1 ");
    CHECK_CSTR(count_text(s, APP_A2, pending | skipped, 0, BASE_MS + 2 * DAY), "12=2 ");
    CHECK_CSTR(count_text(s, 0, delivered, BASE_MS, BASE_MS + 1), "11=1 ");
    CHECK_CSTR(count_text(s, 0, delivered, BASE_MS + 1, BASE_MS + DAY), "");
    CHECK_CSTR(count_text(s, 0, 1u << CALLBACK_DEAD, 0, BASE_MS + 2 * DAY), "");
}

static void a_resend_may_be_of_some_states_only(struct subject *s)
{
    submit_days(s);
    uint64_t no = row_of(s, ACCOUNT_A, "r-1").event.event_no;
    struct outcome o = outcome_of(ACCOUNT_A, no, LANE_SUCCESS, APP_A1, 1, CALLBACK_DEAD, 0);
    CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
    CHECK_EQ_INT(subject_resend_only(s, ACCOUNT_A, "r-1", BASE_MS, 1u << CALLBACK_SKIPPED),
                 STORE_NOT_FOUND);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "r-1").state, CALLBACK_DEAD);
    unsigned meant = 1u << CALLBACK_DEAD | 1u << CALLBACK_SKIPPED;
    CHECK_EQ_INT(subject_resend_only(s, ACCOUNT_A, "r-1", BASE_MS, meant), STORE_OK);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "r-1").state, CALLBACK_PENDING);
    CHECK_EQ_INT(subject_resend_only(s, ACCOUNT_A, "r-1", BASE_MS, meant), STORE_NOT_FOUND);
}

void run_statement_tests(void)
{
    RUN_FRESH(a_resend_may_be_of_some_states_only);
    RUN_FRESH(callbacks_are_counted_by_app);
    RUN_FRESH(statements_have_the_whole_day);
    RUN_FRESH(statements_outlive_erasing);
    RUN_FRESH(a_day_is_listed_in_order_of_acceptance);
}
