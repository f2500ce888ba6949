/* Books that balance: what moves a callback moves its sums, on the day it happened, tests apart. */
#include "suite.h"

#include "domain/clock.h"

#include <stdlib.h>

#define TODAY ((int32_t)(BASE_MS / DAY))

static struct books_check all_days(void)
{
    return (struct books_check){.from_day = INT32_MIN, .callbacks_most = INT64_MAX};
}

static void must_hold(struct subject *s, int64_t days, int64_t callbacks)
{
    struct books_check c = all_days();
    subject_check_books(s, &c);
    CHECK_EQ_INT(c.status, STORE_OK);
    CHECK_EQ_INT(c.difference_total, 0);
    CHECK_EQ_INT(c.days, days);
    CHECK_EQ_INT(c.callbacks, callbacks);
    CHECK(!c.more);
    free(c.differences);
}

static void submit_some(struct subject *s)
{
    accept_at(s, item(EVENT_SURVEY_COMPLETED, "r-1"), BASE_MS, BASE_MS);
    accept_at(s, item(EVENT_SURVEY_STARTED, "s-1"), BASE_MS, BASE_MS);
    accept_at(s, item(EVENT_OFFER_COMPLETED, "o-1"), BASE_MS - DAY, BASE_MS);
    accept_at(s, reversal("x-1", "o-1"), BASE_MS, BASE_MS);
    struct candidate test = item(EVENT_SURVEY_COMPLETED, "t-1");
    test.is_test = true;
    accept_at(s, test, BASE_MS, BASE_MS);
    accept_at(s, item_of(APP_A2, EVENT_SURVEY_COMPLETED, "q-1"), BASE_MS, BASE_MS);
    accept_at(s, item_of(APP_B1, EVENT_SURVEY_COMPLETED, "b-1"), -1, BASE_MS);
}

static void settle(struct subject *s, const char *id, enum lane_kind lane,
                   enum callback_state state)
{
    uint64_t no = row_of(s, ACCOUNT_A, id).event.event_no;
    struct outcome o = outcome_of(ACCOUNT_A, no, lane, APP_A1, 1, state, BASE_MS);
    CHECK_EQ_INT(subject_record(s, &o, 1), STORE_OK);
}

static void books_hold_through_a_life(struct subject *s)
{
    must_hold(s, 0, 0);
    submit_some(s);
    must_hold(s, 3, 6);
    settle(s, "r-1", LANE_SUCCESS, CALLBACK_PENDING);
    settle(s, "t-1", LANE_TEST, CALLBACK_DELIVERED);
    settle(s, "o-1", LANE_OFFER, CALLBACK_DEAD);
    must_hold(s, 3, 6);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "o-1", BASE_MS), STORE_OK);
    CHECK_EQ_INT(subject_resend(s, ACCOUNT_A, "q-1", BASE_MS), STORE_OK);
    must_hold(s, 3, 6);
    int64_t erased = 0;
    CHECK_EQ_INT(subject_erase(s, ACCOUNT_A, "panelist", &erased), STORE_OK);
    CHECK(erased > 0);
    must_hold(s, 3, 6);
    if (s->keeps) {
        subject_reopen(s);
        must_hold(s, 3, 6);
    }
}

static void days_come_one_after_the_other(struct subject *s)
{
    submit_some(s);
    struct books_check c = all_days();
    c.callbacks_most = 1;
    static const struct {
        uint32_t account_no;
        int32_t day;
    } wanted[] = {{ACCOUNT_A, TODAY - 1}, {ACCOUNT_A, TODAY}, {ACCOUNT_B, -1}};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        subject_check_books(s, &c);
        CHECK_EQ_INT(c.days, 1);
        CHECK_EQ_INT(c.last_account_no, wanted[i].account_no);
        CHECK_EQ_INT(c.last_day, wanted[i].day);
        CHECK_EQ_INT(c.more, i + 1 < ARRAY_LEN(wanted));
        c.after_account_no = c.last_account_no;
        c.after_day = c.last_day;
    }
    struct books_check recent = all_days();
    recent.from_day = TODAY;
    subject_check_books(s, &recent);
    CHECK_EQ_INT(recent.days, 1);
    CHECK_EQ_INT(recent.callbacks, 4);
}

static void what_waits_is_known_by_lane(struct subject *s)
{
    submit_some(s);
    struct lane_waiting w = {.account_no = ACCOUNT_A, .app_no = APP_A1};
    subject_lane_waiting(s, &w);
    CHECK_EQ_INT(w.count[LANE_SUCCESS], 1);
    CHECK_EQ_INT(w.count[LANE_TEST], 1);
    CHECK_EQ_INT(w.count[LANE_FAILURE], 0);
    CHECK_EQ_INT(w.count[LANE_OFFER], 2);
    CHECK_EQ_INT(w.oldest_accepted_ms[LANE_OFFER], BASE_MS);
    CHECK_EQ_INT(w.oldest_accepted_ms[LANE_FAILURE], 0);
    settle(s, "r-1", LANE_SUCCESS, CALLBACK_DELIVERED);
    settle(s, "t-1", LANE_TEST, CALLBACK_DELIVERED);
    subject_lane_waiting(s, &w);
    CHECK_EQ_INT(w.count[LANE_SUCCESS], 0);
    CHECK_EQ_INT(w.oldest_accepted_ms[LANE_SUCCESS], 0);
}

/* Tests of the same types have a lane of their own, before and behind those that are none. */
static void what_waits_is_known_of_tests(struct subject *s)
{
    static const char *const ids[] = {"t-1", "r-1", "t-2", "r-2", "to-1", "ro-1"};
    struct candidate items[ARRAY_LEN(ids)];
    struct verdict verdicts[ARRAY_LEN(ids)];
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        items[i] = item(i < 4 ? EVENT_SURVEY_COMPLETED : EVENT_OFFER_COMPLETED, ids[i]);
        items[i].is_test = ids[i][0] == 't';
        CHECK_EQ_INT(subject_submit(s, &items[i], 1, BASE_MS + (int64_t)i, &verdicts[i]), STORE_OK);
    }
    struct candidate back = item(EVENT_OFFER_COMPLETION_REVERSED, "back"); /* held back */
    back.original_reward_id = STR("to-1");
    CHECK_EQ_INT(subject_submit(s, &back, 1, BASE_MS + 9, verdicts), STORE_OK);
    CHECK_EQ_INT(verdicts[0].kind, VERDICT_ACCEPTED);
    struct lane_waiting w = {.account_no = ACCOUNT_A, .app_no = APP_A1};
    subject_lane_waiting(s, &w);
    CHECK_EQ_INT(w.count[LANE_TEST], 4);
    CHECK_EQ_INT(w.count[LANE_SUCCESS], 2);
    CHECK_EQ_INT(w.count[LANE_OFFER], 1);
    CHECK_EQ_INT(w.oldest_accepted_ms[LANE_TEST], BASE_MS);
    CHECK_EQ_INT(w.oldest_accepted_ms[LANE_SUCCESS], BASE_MS + 1);
    CHECK_EQ_INT(w.oldest_accepted_ms[LANE_OFFER], BASE_MS + 5);
    settle(s, "t-1", LANE_TEST, CALLBACK_DELIVERED);
    settle(s, "t-2", LANE_TEST, CALLBACK_DELIVERED);
    settle(s, "to-1", LANE_TEST, CALLBACK_DEAD);
    settle(s, "r-1", LANE_SUCCESS, CALLBACK_DELIVERED);
    subject_lane_waiting(s, &w);
    CHECK_EQ_INT(w.count[LANE_TEST], 1);
    CHECK_EQ_INT(w.oldest_accepted_ms[LANE_TEST], BASE_MS + 9);
    CHECK_EQ_INT(w.oldest_accepted_ms[LANE_SUCCESS], BASE_MS + 3);
    settle(s, "back", LANE_TEST, CALLBACK_DELIVERED);
    subject_lane_waiting(s, &w);
    CHECK_EQ_INT(w.count[LANE_TEST], 0);
    CHECK_EQ_INT(w.oldest_accepted_ms[LANE_TEST], 0);
}

/* However many of another lane wait for longer. */
static void what_waits_longest_is_known_of_each_lane(struct subject *s)
{
    enum { BATCHES = 11, EACH = 100 };
    for (int b = 0; b < BATCHES; b++) {
        struct candidate items[EACH];
        struct verdict verdicts[EACH];
        char ids[EACH][16];
        for (int i = 0; i < EACH; i++) {
            snprintf(ids[i], sizeof ids[i], "w-%d-%d", b, i);
            items[i] = item(EVENT_SURVEY_COMPLETED, ids[i]);
        }
        CHECK_EQ_INT(subject_submit(s, items, EACH, BASE_MS + b, verdicts), STORE_OK);
    }
    struct candidate late = item(EVENT_OFFER_COMPLETED, "late");
    struct verdict v;
    CHECK_EQ_INT(subject_submit(s, &late, 1, BASE_MS + 500, &v), STORE_OK);
    struct lane_waiting w = {.account_no = ACCOUNT_A, .app_no = APP_A1};
    subject_lane_waiting(s, &w);
    CHECK_EQ_INT(w.count[LANE_SUCCESS], BATCHES * EACH);
    CHECK_EQ_INT(w.count[LANE_OFFER], 1);
    CHECK_EQ_INT(w.oldest_accepted_ms[LANE_SUCCESS], BASE_MS);
    CHECK_EQ_INT(w.oldest_accepted_ms[LANE_OFFER], BASE_MS + 500);
}

void run_books_tests(void)
{
    RUN_FRESH(books_hold_through_a_life);
    RUN_FRESH(days_come_one_after_the_other);
    RUN_FRESH(what_waits_is_known_by_lane);
    RUN_FRESH(what_waits_is_known_of_tests);
    RUN_FRESH(what_waits_longest_is_known_of_each_lane);
}
