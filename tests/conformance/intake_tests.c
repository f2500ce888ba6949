/* Taking in: verdicts, what is decided about an event, and what stays decided for ever. */
#include "suite.h"

#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

static void accepts_and_numbers_per_account(struct subject *s)
{
    struct candidate items[] = {item(EVENT_SURVEY_STARTED, "s-1"),
                                item(EVENT_SURVEY_COMPLETED, "r-1"),
                                item_of(APP_B1, EVENT_SURVEY_COMPLETED, "r-1"),
                                item_of(APP_A2, EVENT_OFFER_CLICKED, "c-1")};
    struct verdict v[ARRAY_LEN(items)];
    REQUIRE(subject_submit(s, items, ARRAY_LEN(items), BASE_MS + 5, v) == STORE_OK);
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        CHECK_EQ_INT(v[i].kind, VERDICT_ACCEPTED);
    CHECK_EQ_UINT(v[0].event_no, 1);
    CHECK_EQ_UINT(v[1].event_no, 2);
    CHECK_EQ_UINT(v[2].event_no, 1);
    CHECK_EQ_UINT(v[3].event_no, 3);

    struct callback_row row = row_of(s, ACCOUNT_A, "r-1");
    CHECK_EQ_INT(row.state, CALLBACK_PENDING);
    CHECK_EQ_UINT(row.event.event_no, 2);
    CHECK_EQ_INT(row.event.revenue_micros, 1250000);
    CHECK_EQ_INT(row.event.reward_micros, 125000000);
    CHECK_EQ_INT(row.event.accepted_ms, BASE_MS + 5);
    CHECK_EQ_INT(row.next_attempt_ms, BASE_MS + 5);
    CHECK_EQ_INT(row.attempts, 0);
    CHECK_STR(row.event.body,
              "{\"Sig\":\"00000000000000000000000000000000\",\"PanelistId\":\"panelist\","
              "\"RewardType\":\"survey_completed\",\"RewardId\":\"r-1\",\"Reward\":125.00,"
              "\"RevenueAmount\":1.25,\"IsTest\":false}");
    row = row_of(s, ACCOUNT_A, "c-1");
    CHECK_EQ_INT(row.state, CALLBACK_SKIPPED);
    CHECK_EQ_INT(row.reason, REASON_NO_URL);
    row = row_of(s, ACCOUNT_A, "s-1");
    CHECK_EQ_UINT(row.event.event_no, 0); /* owes no callback: not found */
    row = row_of(s, ACCOUNT_B, "c-1");
    CHECK_EQ_UINT(row.event.event_no, 0);
}

static void keeps_every_member(struct subject *s)
{
    struct candidate c = item_of(APP_A1, EVENT_AD_HOC, "full");
    c.reward_micros = -1500000;
    c.has_revenue = true;
    c.revenue_micros = 1;
    c.session_id = STR("");
    c.mid = STR("m\"\\\n\x01\xc3\xbc");
    c.original_reward_id = STR("unknown-one");
    c.reason = STR("support");
    c.is_test = true;
    c.occurred_ms = BASE_MS - 3 * DAY + 1;
    CHECK_EQ_INT(submit_one(s, c).kind, VERDICT_ACCEPTED);
    struct callback_row row = row_of(s, ACCOUNT_A, "full");
    const struct event *e = &row.event;
    CHECK_EQ_INT(e->type, EVENT_AD_HOC);
    CHECK_EQ_INT(e->lane, LANE_TEST);
    CHECK_EQ_UINT(e->app_no, APP_A1);
    CHECK_EQ_UINT(e->client_no, APP_A1 * 10);
    CHECK(e->is_test);
    CHECK_EQ_INT(e->reward_micros, -1500000);
    CHECK_EQ_INT(e->revenue_micros, 1);
    CHECK_EQ_INT(e->occurred_ms, BASE_MS - 3 * DAY + 1);
    CHECK_STR(e->panelist_id, "panelist");
    CHECK_STR(e->session_id, "");
    CHECK_STR(e->mid, "m\"\\\n\x01\xc3\xbc");
    CHECK_STR(e->original_reward_id, "unknown-one");
    CHECK_STR(e->reason, "support");
    CHECK(e->offer_title.p == NULL && e->offer_goal_id.p == NULL);
}

static void same_content_is_a_duplicate_for_ever(struct subject *s)
{
    struct candidate c = item(EVENT_SURVEY_COMPLETED, "r-1");
    struct verdict first = submit_one(s, c);
    CHECK_EQ_INT(first.kind, VERDICT_ACCEPTED);
    struct verdict v = submit_one(s, c);
    CHECK_EQ_INT(v.kind, VERDICT_DUPLICATE);
    CHECK_EQ_UINT(v.event_no, first.event_no);
    c.refused = true;
    CHECK_EQ_INT(submit_one(s, c).kind, VERDICT_DUPLICATE);
    c.mid = STR("");
    CHECK_EQ_INT(submit_one(s, c).kind, VERDICT_CONFLICT);
    c = item_of(APP_B1, EVENT_SURVEY_COMPLETED, "r-1");
    CHECK_EQ_INT(submit_one(s, c).kind, VERDICT_ACCEPTED);
    c = item(EVENT_SURVEY_COMPLETED, "r-2");
    c.refused = true;
    CHECK_EQ_INT(submit_one(s, c).kind, VERDICT_REFUSED);
    c.refused = false;
    CHECK_EQ_INT(submit_one(s, c).kind, VERDICT_ACCEPTED); /* what was refused left no trace */
}

static void finds_duplicates_within_one_batch(struct subject *s)
{
    struct candidate items[4] = {
        item(EVENT_SURVEY_COMPLETED, "r-1"), item(EVENT_SURVEY_COMPLETED, "r-1"),
        item(EVENT_SURVEY_COMPLETED, "r-1"), item(EVENT_SURVEY_COMPLETED, "r-2")};
    items[2].revenue_micros++;
    struct verdict v[4];
    REQUIRE(subject_submit(s, items, 4, BASE_MS, v) == STORE_OK);
    CHECK_EQ_INT(v[0].kind, VERDICT_ACCEPTED);
    CHECK_EQ_INT(v[1].kind, VERDICT_DUPLICATE);
    CHECK_EQ_UINT(v[1].event_no, v[0].event_no);
    CHECK_EQ_INT(v[2].kind, VERDICT_CONFLICT);
    CHECK_EQ_INT(v[3].kind, VERDICT_ACCEPTED);
    CHECK_EQ_UINT(v[3].event_no, v[0].event_no + 1);
}

static void an_empty_batch_is_answered(struct subject *s)
{
    struct verdict none;
    CHECK_EQ_INT(subject_submit(s, NULL, 0, BASE_MS, &none), STORE_OK);
}

static void reversals_take_back_the_original(struct subject *s)
{
    struct candidate original = item(EVENT_OFFER_COMPLETED, "o-1");
    original.offer_goal_id = STR("5");
    original.session_id = STR("sess");
    struct candidate items[] = {reversal("x-1", "o-1"), original, reversal("x-2", "o-1"),
                                reversal("x-3", "o-1"), reversal("x-4", "nothing")};
    struct verdict v[ARRAY_LEN(items)];
    REQUIRE(subject_submit(s, items, ARRAY_LEN(items), BASE_MS, v) == STORE_OK);
    CHECK_EQ_INT(v[0].kind, VERDICT_ORIGINAL_NOT_FOUND); /* it comes later in the batch */
    CHECK_EQ_INT(v[1].kind, VERDICT_ACCEPTED);
    CHECK_EQ_INT(v[2].kind, VERDICT_ACCEPTED);
    CHECK_EQ_INT(v[3].kind, VERDICT_ALREADY_REVERSED);
    CHECK_EQ_INT(v[4].kind, VERDICT_ORIGINAL_NOT_FOUND);
    struct callback_row row = row_of(s, ACCOUNT_A, "x-2");
    CHECK_EQ_INT(row.event.revenue_micros, -1250000);
    CHECK_EQ_INT(row.event.reward_micros, -125000000);
    CHECK_EQ_UINT(row.event.original_no, v[1].event_no);
    CHECK_EQ_INT(row.event.offer_id, 77);
    CHECK_STR(row.event.offer_goal_id, "5");
    CHECK_STR(row.event.session_id, "sess");
    CHECK_STR(row.event.offer_title, "Title");
    CHECK_EQ_INT(submit_one(s, reversal("x-2", "o-1")).kind, VERDICT_DUPLICATE);
    CHECK_EQ_INT(submit_one(s, reversal("x-5", "o-1")).kind, VERDICT_ALREADY_REVERSED);
}

static void reversals_must_fit_the_original(struct subject *s)
{
    CHECK_EQ_INT(submit_one(s, item(EVENT_OFFER_COMPLETED, "o-1")).kind, VERDICT_ACCEPTED);
    CHECK_EQ_INT(submit_one(s, item(EVENT_OFFER_CLICKED, "c-1")).kind, VERDICT_ACCEPTED);
    struct candidate c = reversal("x-1", "o-1");
    c.panelist_id = STR("somebody else");
    struct verdict v = submit_one(s, c);
    CHECK_EQ_INT(v.kind, VERDICT_MISMATCH);
    CHECK_CSTR(v.field, "PanelistId");
    CHECK_EQ_INT(submit_one(s, reversal("x-2", "c-1")).kind, VERDICT_ORIGINAL_NOT_FOUND);
    c = reversal("x-3", "o-1");
    c.terms = &terms_a2;
    CHECK_EQ_INT(submit_one(s, c).kind, VERDICT_ORIGINAL_NOT_FOUND);
    c.terms = &terms_b1;
    CHECK_EQ_INT(submit_one(s, c).kind, VERDICT_ORIGINAL_NOT_FOUND);
    CHECK_EQ_INT(submit_one(s, reversal("x-4", "o-1")).kind, VERDICT_ACCEPTED);
}

/* The reward of a disqualification at that moment. */
static int64_t disqualify(struct subject *s, const char *id, int64_t at_ms, bool is_test,
                          const char *panelist)
{
    struct candidate c = item(EVENT_SURVEY_DISQUALIFIED, id);
    c.occurred_ms = at_ms;
    c.is_test = is_test;
    c.panelist_id = str_of(panelist);
    CHECK_EQ_INT(submit_one(s, c).kind, VERDICT_ACCEPTED);
    return row_of(s, ACCOUNT_A, id).event.reward_micros;
}

static void disqualifications_are_capped(struct subject *s)
{
    int64_t t = BASE_MS - 10 * DAY;
    CHECK_EQ_INT(disqualify(s, "d-1", t, false, "p"), 500000);
    CHECK_EQ_INT(disqualify(s, "d-2", t + 1, true, "p"), 500000); /* tests do not count */
    CHECK_EQ_INT(disqualify(s, "d-3", t + 1000, false, "p"), 500000);
    CHECK_EQ_INT(disqualify(s, "d-4", t + 2000, false, "p"), 0); /* the cap is 2 */
    CHECK_EQ_INT(disqualify(s, "d-5", t + 2000, true, "p"), 500000);
    CHECK_EQ_INT(disqualify(s, "d-6", t + 2000, false, "q"), 500000);
    CHECK_EQ_INT(disqualify(s, "d-7", t + DAY - 1, false, "p"), 0);
    CHECK_EQ_INT(disqualify(s, "d-8", t + DAY, false, "p"), 500000); /* the first one is out */
    CHECK_EQ_INT(disqualify(s, "d-9", t + DAY, false, "p"), 0);
    CHECK_EQ_INT(disqualify(s, "d-10", t - 1, false, "p"), 0); /* the day from it on is full */
    CHECK_EQ_INT(disqualify(s, "d-11", t - DAY + 1000, false, "p"), 500000); /* none is, with it */
    CHECK_EQ_INT(disqualify(s, "d-12", t - DAY + 2000, false, "p"), 0);
    struct candidate own = item(EVENT_SURVEY_DISQUALIFIED, "d-13");
    own.occurred_ms = t + DAY;
    own.panelist_id = STR("p");
    own.has_reward = true;
    own.reward_micros = 7;
    CHECK_EQ_INT(submit_one(s, own).kind, VERDICT_ACCEPTED);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "d-13").event.reward_micros, 7);
}

#define ORDERED 60

/* How many of ORDERED disqualifications, half an hour apart, are paid when they come as `order`
 * says, some at a time. */
static int paid_in_order(struct subject *s, const int *order, size_t at_once, const char *panelist)
{
    static char ids[ORDERED][24];
    int paid = 0;
    for (size_t done = 0; done < ORDERED; done += at_once) {
        struct candidate items[ORDERED];
        struct verdict v[ORDERED];
        for (size_t i = 0; i < at_once; i++) {
            snprintf(ids[i], sizeof ids[i], "d-%s-%d", panelist, order[done + i]);
            items[i] = item(EVENT_SURVEY_DISQUALIFIED, ids[i]);
            items[i].panelist_id = str_of(panelist);
            items[i].occurred_ms = BASE_MS - 5 * DAY + order[done + i] * (DAY / 48);
        }
        if (!CHECK(subject_submit(s, items, at_once, BASE_MS, v) == STORE_OK))
            return -1;
        for (size_t i = 0; i < at_once; i++)
            paid += row_of(s, ACCOUNT_A, ids[i]).event.reward_micros > 0;
    }
    return paid;
}

/* In the order of time two a day are paid; in any other order no day gets more. */
static void the_cap_holds_in_whatever_order_events_come(struct subject *s)
{
    int forwards[ORDERED], backwards[ORDERED], mixed[ORDERED];
    for (int i = 0; i < ORDERED; i++) {
        forwards[i] = i;
        backwards[i] = ORDERED - 1 - i;
        mixed[i] = i * 37 % ORDERED;
    }
    CHECK_EQ_INT(paid_in_order(s, forwards, 1, "f"), 4);
    CHECK_EQ_INT(paid_in_order(s, backwards, 1, "b"), 4);
    CHECK_EQ_INT(paid_in_order(s, backwards, ORDERED, "bb"), 4);
    CHECK_EQ_INT(paid_in_order(s, backwards, 10, "bs"), 4);
    CHECK(paid_in_order(s, mixed, 1, "m") <= 4);
    CHECK(paid_in_order(s, mixed, 20, "ms") <= 4);
}

static struct verdict submit_at(struct subject *s, enum event_type type, const char *id,
                                int64_t received_ms)
{
    struct candidate c = item(type, id);
    struct verdict v = {.kind = VERDICT_CONFLICT};
    CHECK_EQ_INT(subject_submit(s, &c, 1, received_ms, &v), STORE_OK);
    CHECK_EQ_INT(v.kind, VERDICT_ACCEPTED);
    return v;
}

/* Threads read the clock a moment apart: the times follow the numbers, due is what was received. */
static void acceptance_does_not_go_back_a_little(struct subject *s)
{
    (void)submit_at(s, EVENT_SURVEY_COMPLETED, "r-1", BASE_MS + 2000);
    (void)submit_at(s, EVENT_SURVEY_COMPLETED, "r-2", BASE_MS);
    if (s->keeps)
        subject_reopen(s);
    struct callback_row row = row_of(s, ACCOUNT_A, "r-2");
    CHECK_EQ_INT(row.event.accepted_ms, BASE_MS + 2000);
    CHECK_EQ_INT(row.next_attempt_ms, BASE_MS);
    (void)submit_at(s, EVENT_SURVEY_COMPLETED, "r-3", BASE_MS + 1000);
    CHECK_EQ_INT(row_of(s, ACCOUNT_A, "r-3").event.accepted_ms, BASE_MS + 2000);
    struct store_numbers numbers;
    store_get_numbers(s->store, &numbers);
    CHECK_EQ_INT(numbers.last_accepted_ms, BASE_MS + 2000);
}

/* EventIds accepted in [from, to), newest first. */
static const char *accepted_between(struct subject *s, int64_t from_ms, int64_t to_ms)
{
    static char text[200];
    struct callback_list l = {.account_no = ACCOUNT_A,
                              .has_from = true,
                              .accepted_from_ms = from_ms,
                              .has_to = true,
                              .accepted_to_ms = to_ms,
                              .limit = 20};
    subject_list(s, &l);
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < l.count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s", i ? " " : "",
                              STR_ARG(l.rows[i].event.event_id));
    arena_free(&l.arena);
    struct callback_count c = {.account_no = ACCOUNT_A,
                               .states = 1u << CALLBACK_PENDING,
                               .accepted_from_ms = from_ms,
                               .accepted_to_ms = to_ms};
    subject_count(s, &c);
    CHECK_EQ_INT(c.count ? c.apps[0].count : 0, (int64_t)l.count);
    free(c.apps);
    return text;
}

static void check_put_back(struct subject *s)
{
    int64_t later = BASE_MS + 3 * DAY;
    CHECK_CSTR(accepted_between(s, BASE_MS, BASE_MS + DAY), "r-8 r-5 r-4 r-1");
    CHECK_CSTR(accepted_between(s, BASE_MS + 10000, BASE_MS + DAY), "r-8 r-5 r-4");
    CHECK_CSTR(accepted_between(s, later, later + DAY), "r-3 r-2");
    CHECK_CSTR(accepted_between(s, BASE_MS - 2 * DAY, BASE_MS), "r-7 r-6");
    CHECK_CSTR(accepted_between(s, INT64_MIN, INT64_MAX), "r-8 r-7 r-6 r-5 r-4 r-3 r-2 r-1");
    CHECK_CSTR(accepted_between(s, later + DAY, INT64_MAX), "");
    struct callback_row row = row_of(s, ACCOUNT_A, "r-4");
    CHECK_EQ_INT(row.event.accepted_ms, BASE_MS + 10000);
    CHECK_EQ_INT(row.next_attempt_ms, BASE_MS + 10000);
    /* What happened on the day, whenever it was accepted. */
    struct callback_list l = {.account_no = ACCOUNT_A, .of_day = true, .limit = 20};
    l.day = (int32_t)(BASE_MS / DAY);
    subject_list(s, &l);
    CHECK_EQ_UINT(l.count, 8);
    arena_free(&l.arena);
    struct statement_query q = {.account_no = ACCOUNT_A, .day = (int32_t)(BASE_MS / DAY)};
    subject_statement(s, &q);
    CHECK_EQ_UINT(q.count, 1);
    CHECK_EQ_INT(q.apps[0].sums[EVENT_SURVEY_COMPLETED][CALLBACK_PENDING].count, 8);
    free(q.apps);
}

/* Moving in: the cap holds on days of any age, however often they are come back to. */
static void the_cap_holds_on_old_days(struct subject *s)
{
    int64_t t = BASE_MS - 400 * DAY;
    CHECK_EQ_INT(disqualify(s, "d-1", t, false, "p"), 500000);
    CHECK_EQ_INT(disqualify(s, "d-2", t + 1000, false, "p"), 500000);
    for (int round = 0; round < 2; round++) {
        char id[2][8];
        for (int i = 0; i < 2; i++)
            snprintf(id[i], sizeof id[i], "d-%d%d", round, i);
        if (s->keeps)
            subject_reopen(s); /* what is too old goes at a start */
        CHECK_EQ_INT(disqualify(s, id[0], t + 2000, false, "p"), 0);
        CHECK_EQ_INT(disqualify(s, id[1], t + DAY + 500 + round, false, "p"), round ? 0 : 500000);
    }
}

/* The clock was days ahead and is put back, twice: everything keeps the time it came at. */
static void a_clock_put_back_takes_the_times_with_it(struct subject *s)
{
    int64_t later = BASE_MS + 3 * DAY;
    (void)submit_at(s, EVENT_SURVEY_COMPLETED, "r-1", BASE_MS);
    (void)submit_at(s, EVENT_SURVEY_COMPLETED, "r-2", later);
    if (s->keeps)
        subject_reopen(s);
    (void)submit_at(s, EVENT_SURVEY_COMPLETED, "r-3", later + 1000);
    (void)submit_at(s, EVENT_SURVEY_COMPLETED, "r-4", BASE_MS + 10000);
    (void)submit_at(s, EVENT_SURVEY_COMPLETED, "r-5", BASE_MS + 11000);
    if (s->keeps)
        subject_reopen(s);
    (void)submit_at(s, EVENT_SURVEY_COMPLETED, "r-6", BASE_MS - DAY);
    (void)submit_at(s, EVENT_SURVEY_COMPLETED, "r-7", BASE_MS - DAY + 1000);
    (void)submit_at(s, EVENT_SURVEY_COMPLETED, "r-8", BASE_MS + 12000);
    check_put_back(s);
    if (s->keeps) {
        subject_reopen(s);
        check_put_back(s);
    }
}

void run_intake_tests(void)
{
    RUN_FRESH(accepts_and_numbers_per_account);
    RUN_FRESH(keeps_every_member);
    RUN_FRESH(same_content_is_a_duplicate_for_ever);
    RUN_FRESH(finds_duplicates_within_one_batch);
    RUN_FRESH(an_empty_batch_is_answered);
    RUN_FRESH(reversals_take_back_the_original);
    RUN_FRESH(reversals_must_fit_the_original);
    RUN_FRESH(disqualifications_are_capped);
    RUN_FRESH(the_cap_holds_in_whatever_order_events_come);
    RUN_FRESH(the_cap_holds_on_old_days);
    RUN_FRESH(acceptance_does_not_go_back_a_little);
    RUN_FRESH(a_clock_put_back_takes_the_times_with_it);
}
