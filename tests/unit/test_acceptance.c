/* The decision at acceptance, for every type and every reason to refuse. */
#include "domain/acceptance.h"

#include "domain/money.h"

#include "check.h"

#define ACCEPTED_MS 1763726400000

static struct app_terms terms;

static void reset_terms(void)
{
    terms = (struct app_terms){
        .account_no = 3,
        .app_no = 7,
        .currency_micros = 100 * MICROS_PER_UNIT,
        .disqualification_reward_micros = 500000,
        .disqualification_cap = 6,
        .reward_decimals = 2,
        .has_url = {false, true, true, true},
    };
}

static struct candidate candidate_of(enum event_type type)
{
    reset_terms();
    struct candidate c = {
        .terms = &terms,
        .client_no = 11,
        .integration = INTEGRATION_SDK,
        .type = type,
        .deliver = true,
        .occurred_ms = ACCEPTED_MS - 5000,
        .event_id = STR("e-1"),
        .client_id = STR("c_1"),
        .panelist_id = STR("p-1"),
        .key = {1, 2},
        .content = 4,
    };
    if (type == EVENT_SURVEY_COMPLETED || type == EVENT_OFFER_COMPLETED) {
        c.has_revenue = true;
        c.revenue_micros = 1234567;
    }
    if (type == EVENT_AD_HOC) {
        c.has_reward = true;
        c.reward_micros = 9000000;
    }
    if (event_type_is_offer(type)) {
        c.offer_id = 5;
        c.offer_title = STR("title");
        c.offer_goal_id = STR("goal");
    }
    return c;
}

static const struct acceptance_facts nothing_found = {.received_ms = ACCEPTED_MS,
                                                      .last_event_no = 8};

/* With so many payments at the time of the event. */
static struct event accept(const struct candidate *c, uint32_t payments)
{
    struct event e = {0};
    int64_t at_ms[100];
    for (uint32_t i = 0; i < payments; i++)
        at_ms[i] = c->occurred_ms;
    struct acceptance_facts facts = nothing_found;
    facts.paid = (struct payments){at_ms, payments};
    struct verdict v = acceptance_decide(c, &facts, &e);
    CHECK_EQ_INT(v.kind, VERDICT_ACCEPTED);
    return e;
}

static void an_event_known_by_its_key_is_repeated(void)
{
    struct candidate c = candidate_of(EVENT_SURVEY_COMPLETED);
    struct event untouched = {.event_no = 4242};
    struct acceptance_facts facts = {.is_known = true, .known_content = 4, .known_event_no = 41};
    c.refused = true; /* what would be refused now was accepted then */
    struct verdict v = acceptance_decide(&c, &facts, &untouched);
    CHECK(v.kind == VERDICT_DUPLICATE && v.event_no == 41);
    facts.known_content = 5;
    v = acceptance_decide(&c, &facts, &untouched);
    CHECK(v.kind == VERDICT_CONFLICT && v.event_no == 0);
    CHECK_EQ_UINT(untouched.event_no, 4242);
}

static void an_accepted_event_has_the_next_number(void)
{
    struct candidate c = candidate_of(EVENT_SURVEY_COMPLETED);
    struct event e;
    struct acceptance_facts facts = {.received_ms = 5, .last_accepted_ms = 6, .last_event_no = 8};
    struct verdict v = acceptance_decide(&c, &facts, &e);
    CHECK(v.kind == VERDICT_ACCEPTED && v.event_no == 9);
    CHECK(e.event_no == 9 && e.due_ms == 5 && e.accepted_ms == 6);
}

static void copies_what_was_reported(void)
{
    struct candidate c = candidate_of(EVENT_OFFER_COMPLETED);
    c.session_id = STR("s");
    c.mid = STR("m");
    c.reason = STR("why");
    struct event e = accept(&c, 0);
    CHECK_EQ_UINT(e.account_no, 3);
    CHECK_EQ_UINT(e.app_no, 7);
    CHECK_EQ_UINT(e.client_no, 11);
    CHECK_EQ_UINT(e.event_no, 9);
    CHECK_EQ_INT(e.type, EVENT_OFFER_COMPLETED);
    CHECK_EQ_INT(e.lane, LANE_OFFER);
    CHECK_EQ_INT(e.occurred_ms, ACCEPTED_MS - 5000);
    CHECK_EQ_INT(e.accepted_ms, ACCEPTED_MS);
    CHECK_EQ_INT(e.reward_decimals, 2);
    CHECK_EQ_INT(e.offer_id, 5);
    CHECK_EQ_UINT(e.original_no, 0);
    CHECK_STR(e.event_id, "e-1");
    CHECK_STR(e.panelist_id, "p-1");
    CHECK_STR(e.session_id, "s");
    CHECK_STR(e.mid, "m");
    CHECK_STR(e.offer_title, "title");
    CHECK_STR(e.offer_goal_id, "goal");
    CHECK_STR(e.reason, "why");
    CHECK(!e.original_reward_id.p && !e.body.p);
    CHECK(e.key.hi == 1 && e.key.lo == 2 && e.content == 4);
}

static void pays_by_the_ratio(void)
{
    static const enum event_type types[] = {EVENT_SURVEY_COMPLETED, EVENT_OFFER_COMPLETED,
                                            EVENT_PROFILER_COMPLETED};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct candidate c = candidate_of(types[i]);
        c.has_revenue = true;
        c.revenue_micros = 1234567;
        struct event e = accept(&c, 0);
        CHECK_EQ_INT(e.revenue_micros, 1234567);
        CHECK_EQ_INT(e.reward_micros, 123460000); /* 123.4567 to 2 digits */
        terms.reward_decimals = 0;
        CHECK_EQ_INT(accept(&c, 0).reward_micros, 123000000);
        c.has_reward = true;
        c.reward_micros = 1;
        CHECK_EQ_INT(accept(&c, 0).reward_micros, 1); /* its own Reward, as it is */
        CHECK_EQ_INT(accept(&c, 0).revenue_micros, 1234567);
    }
    struct candidate c = candidate_of(EVENT_PROFILER_COMPLETED);
    struct event e = accept(&c, 0);
    CHECK_EQ_INT(e.revenue_micros, 0);
    CHECK_EQ_INT(e.reward_micros, 0);
}

static void starts_and_clicks_pay_nothing(void)
{
    struct candidate c = candidate_of(EVENT_SURVEY_STARTED);
    struct event e = accept(&c, 0);
    CHECK_EQ_INT(e.lane, LANE_NONE);
    CHECK_EQ_INT(e.state, CALLBACK_NONE);
    CHECK_EQ_INT(e.reward_micros, 0);
    c = candidate_of(EVENT_OFFER_CLICKED);
    c.has_revenue = c.has_reward = true;
    c.revenue_micros = c.reward_micros = 5000000;
    e = accept(&c, 0);
    CHECK_EQ_INT(e.reward_micros, 0);
    CHECK_EQ_INT(e.revenue_micros, 0);
    CHECK(!e.offer_goal_id.p);
    CHECK_EQ_INT(e.lane, LANE_OFFER);
    CHECK_STR(e.offer_title, "title");
}

static void ad_hoc_carries_its_reward(void)
{
    struct candidate c = candidate_of(EVENT_AD_HOC);
    c.original_reward_id = STR("o-1");
    struct event e = accept(&c, 0);
    CHECK_EQ_INT(e.reward_micros, 9000000);
    CHECK_EQ_INT(e.revenue_micros, 0);
    CHECK_EQ_INT(e.lane, LANE_SUCCESS);
    CHECK_STR(e.original_reward_id, "o-1");
    CHECK_EQ_UINT(e.original_no, 0);
    int64_t untouched = 42;
    c.reward_micros = -1;
    CHECK(!acceptance_reward(&c, &untouched));
    CHECK_ABORTS(accept(&c, 0)); /* intake lets none of these through */
    terms.negative_ad_hoc = true;
    CHECK_EQ_INT(accept(&c, 0).reward_micros, -1);
    c.reward_micros = -MONEY_MAX_REWARD_MICROS - 1;
    CHECK(!acceptance_reward(&c, &untouched));
    c.has_reward = false;
    CHECK(!acceptance_reward(&c, &untouched));
    CHECK_EQ_INT(untouched, 42);
}

static void rewards_out_of_range_are_seen_at_intake(void)
{
    int64_t value = 42;
    struct candidate c = candidate_of(EVENT_SURVEY_COMPLETED);
    c.revenue_micros = MONEY_MAX_REVENUE_MICROS;
    terms.currency_micros = MONEY_MAX_CURRENCY_MICROS;
    CHECK(!acceptance_reward(&c, &value));
    terms.currency_micros = 1000 * MICROS_PER_UNIT;
    CHECK(acceptance_reward(&c, &value));
    CHECK_EQ_INT(value, MONEY_MAX_REWARD_MICROS);
    c.has_reward = true;
    c.reward_micros = MONEY_MAX_REWARD_MICROS + 1;
    CHECK(!acceptance_reward(&c, &value));
    c.reward_micros = -1;
    terms.negative_ad_hoc = true; /* only ad_hoc may be negative */
    CHECK(!acceptance_reward(&c, &value));
}

static void disqualifications_are_capped(void)
{
    struct candidate c = candidate_of(EVENT_SURVEY_DISQUALIFIED);
    CHECK(acceptance_needs_payments(&c));
    struct event e = accept(&c, 0);
    CHECK_EQ_INT(e.lane, LANE_FAILURE);
    CHECK_EQ_INT(e.reward_micros, 500000);
    CHECK_EQ_INT(e.cap, CAP_COUNTED);
    e = accept(&c, 5);
    CHECK_EQ_INT(e.reward_micros, 500000);
    CHECK_EQ_INT(e.cap, CAP_COUNTED);
    for (uint32_t payments = 6; payments < 9; payments++) {
        e = accept(&c, payments);
        CHECK_EQ_INT(e.reward_micros, 0);
        CHECK_EQ_INT(e.cap, CAP_REACHED);
        CHECK_EQ_INT(e.state, CALLBACK_PENDING); /* unpaid, but told */
    }
    terms.disqualification_cap = 0;
    e = accept(&c, 0);
    CHECK_EQ_INT(e.reward_micros, 0);
    CHECK_EQ_INT(e.cap, CAP_REACHED);
}

static void the_cap_is_about_the_apps_own_payments(void)
{
    struct candidate c = candidate_of(EVENT_SURVEY_DISQUALIFIED);
    c.is_test = true;
    CHECK(!acceptance_needs_payments(&c));
    struct event e = accept(&c, 100);
    CHECK_EQ_INT(e.reward_micros, 500000); /* tests are always paid and never counted */
    CHECK_EQ_INT(e.cap, CAP_NONE);
    c.is_test = false;
    c.has_reward = c.has_revenue = true;
    c.reward_micros = 2000000;
    c.revenue_micros = 10000;
    CHECK(!acceptance_needs_payments(&c));
    e = accept(&c, 100);
    CHECK_EQ_INT(e.reward_micros, 2000000);
    CHECK_EQ_INT(e.revenue_micros, 10000);
    CHECK_EQ_INT(e.cap, CAP_NONE);
    c.has_reward = false;
    terms.disqualification_reward_micros = 0;
    CHECK(!acceptance_needs_payments(&c));
    e = accept(&c, 0);
    CHECK_EQ_INT(e.reward_micros, 0);
    CHECK_EQ_INT(e.cap, CAP_NONE); /* nothing was paid */
    CHECK(!acceptance_needs_payments(
        &(struct candidate){.terms = &terms, .type = EVENT_SURVEY_COMPLETED}));
}

static struct event original_of(const struct candidate *reversal)
{
    return (struct event){
        .account_no = reversal->terms->account_no,
        .app_no = reversal->terms->app_no,
        .client_no = 99,
        .event_no = 41,
        .type = EVENT_OFFER_COMPLETED,
        .offer_id = 5,
        .panelist_id = STR("p-1"),
        .session_id = STR("s-1"),
        .offer_title = STR("title"),
        .revenue_micros = 1234567,
        .reward_micros = 123460000,
        .event_id = STR("o-1"),
    };
}

/* A reversal that says nothing but what it must. */
static struct candidate reversal(void)
{
    struct candidate c = candidate_of(EVENT_OFFER_COMPLETION_REVERSED);
    c.panelist_id = c.offer_title = c.offer_goal_id = STR_NONE;
    c.offer_id = 0;
    c.original_reward_id = STR("o-1");
    return c;
}

static struct verdict decide(const struct candidate *c, const struct event *original, bool reversed)
{
    struct event untouched = {.event_no = 4242};
    struct acceptance_facts facts = nothing_found;
    facts.original = original;
    facts.is_original_reversed = reversed;
    struct verdict v = acceptance_decide(c, &facts, &untouched);
    if (v.kind != VERDICT_ACCEPTED)
        CHECK_EQ_UINT(untouched.event_no, 4242);
    return v;
}

static void a_reversal_negates_its_original(void)
{
    struct candidate c = reversal();
    struct event original = original_of(&c), e = {0};
    c.reason = STR("chargeback");
    c.session_id = STR("s-1"); /* given and equal */
    terms.currency_micros = 1; /* today's ratio changes no past reward */
    struct acceptance_facts facts = {.received_ms = ACCEPTED_MS, .original = &original};
    CHECK_EQ_INT(acceptance_decide(&c, &facts, &e).kind, VERDICT_ACCEPTED);
    CHECK_EQ_INT(e.revenue_micros, -1234567);
    CHECK_EQ_INT(e.reward_micros, -123460000);
    CHECK_EQ_UINT(e.original_no, 41);
    CHECK_EQ_UINT(e.client_no, 11); /* reported by the reversal's own client */
    CHECK_EQ_INT(e.offer_id, 5);
    CHECK_STR(e.panelist_id, "p-1");
    CHECK_STR(e.session_id, "s-1");
    CHECK_STR(e.offer_title, "title");
    CHECK(!e.offer_goal_id.p);
    CHECK_STR(e.original_reward_id, "o-1");
    CHECK_STR(e.reason, "chargeback");
    CHECK_EQ_INT(e.state, CALLBACK_PENDING);
    CHECK(!e.is_test);
}

static void a_reversal_needs_the_right_original(void)
{
    struct candidate c = reversal();
    struct event original = original_of(&c);
    CHECK_EQ_INT(decide(&c, NULL, false).kind, VERDICT_ORIGINAL_NOT_FOUND);
    original.type = EVENT_OFFER_CLICKED;
    CHECK_EQ_INT(decide(&c, &original, false).kind, VERDICT_ORIGINAL_NOT_FOUND);
    original = original_of(&c);
    original.app_no++;
    CHECK_EQ_INT(decide(&c, &original, false).kind, VERDICT_ORIGINAL_NOT_FOUND);
    original = original_of(&c);
    original.account_no++;
    CHECK_EQ_INT(decide(&c, &original, false).kind, VERDICT_ORIGINAL_NOT_FOUND);
    original = original_of(&c);
    CHECK_EQ_INT(decide(&c, &original, true).kind, VERDICT_ALREADY_REVERSED);
    CHECK_CSTR(decide(&c, &original, true).field, "OriginalRewardId");
}

static void a_reversal_may_not_differ(void)
{
    const struct candidate plain = reversal();
    const struct event original = original_of(&plain);
    struct candidate c = plain;
#define CHECK_MISMATCH(name)                                                                       \
    do {                                                                                           \
        struct verdict v_ = decide(&c, &original, false);                                          \
        CHECK_EQ_INT(v_.kind, VERDICT_MISMATCH);                                                   \
        CHECK_CSTR(v_.field, name);                                                                \
        c = plain;                                                                                 \
    } while (0)
    c.panelist_id = STR("p-2");
    CHECK_MISMATCH("PanelistId");
    c.offer_id = 6;
    CHECK_MISMATCH("OfferId");
    c.offer_title = STR("Title");
    CHECK_MISMATCH("OfferTitle");
    c.offer_goal_id = STR("goal"); /* the original has none */
    CHECK_MISMATCH("OfferGoalId");
    c.offer_goal_id = STR("");
    CHECK_MISMATCH("OfferGoalId");
    c.session_id = STR("s-2");
    CHECK_MISMATCH("SessionId");
    c.is_test = c.has_is_test = true;
    CHECK_MISMATCH("IsTest");
    c.has_is_test = true; /* the same: false */
    CHECK_EQ_INT(decide(&c, &original, false).kind, VERDICT_ACCEPTED);
}

/* Nobody knows any more who it was. */
static void of_an_erased_panelist_any_id_matches(void)
{
    struct candidate c = reversal();
    struct event original = original_of(&c);
    original.is_erased = true;
    original.session_id = STR_NONE;
    c.panelist_id = STR("p-2");
    c.session_id = STR("s-1");
    CHECK_EQ_INT(decide(&c, &original, false).kind, VERDICT_ACCEPTED);
    c.offer_title = STR("another");
    CHECK_CSTR(decide(&c, &original, false).field, "OfferTitle");
}

static void the_reversal_of_a_test_is_a_test(void)
{
    struct candidate c = reversal();
    struct event original = original_of(&c), e = {0};
    original.is_test = true;
    struct acceptance_facts facts = {.received_ms = ACCEPTED_MS, .original = &original};
    CHECK_EQ_INT(acceptance_decide(&c, &facts, &e).kind, VERDICT_ACCEPTED);
    CHECK(e.is_test);
    c.has_is_test = true; /* it says that it is none */
    struct verdict v = decide(&c, &original, false);
    CHECK_EQ_INT(v.kind, VERDICT_MISMATCH);
    CHECK_CSTR(v.field, "IsTest");
    c.is_test = true;
    CHECK_EQ_INT(acceptance_decide(&c, &facts, &e).kind, VERDICT_ACCEPTED);
    CHECK(e.is_test);
}

static void what_intake_refuses_stays_refused(void)
{
    struct candidate c = candidate_of(EVENT_SURVEY_COMPLETED);
    c.refused = true;
    CHECK_EQ_INT(decide(&c, NULL, false).kind, VERDICT_REFUSED);
    c = reversal();
    c.refused = true;
    CHECK_EQ_INT(decide(&c, NULL, false).kind, VERDICT_REFUSED);
}

static void check_callback(struct candidate c, enum callback_state state,
                           enum callback_reason reason)
{
    struct event e = accept(&c, 0);
    CHECK_EQ_INT(e.state, state);
    CHECK_EQ_INT(e.reason_skipped, reason);
}

static void the_callback_starts_where_it_can_go(void)
{
    for (int t = EVENT_SURVEY_STARTED; t < EVENT_OFFER_COMPLETION_REVERSED; t++) {
        struct candidate c = candidate_of((enum event_type)t);
        enum lane_kind lane = event_lane(c.type);
        bool none = lane == LANE_NONE;
        check_callback(c, none ? CALLBACK_NONE : CALLBACK_PENDING, REASON_NONE);
        terms.lane_disabled[lane] = true; /* then it waits */
        check_callback(c, none ? CALLBACK_NONE : CALLBACK_PENDING, REASON_NONE);
        terms.unwanted_types = UINT32_C(1) << t;
        check_callback(c, none ? CALLBACK_NONE : CALLBACK_SKIPPED,
                       none ? REASON_NONE : REASON_NOT_WANTED);
        terms.has_url[lane] = false;
        check_callback(c, none ? CALLBACK_NONE : CALLBACK_SKIPPED,
                       none ? REASON_NONE : REASON_NO_URL);
        c.deliver = false;
        check_callback(c, none ? CALLBACK_NONE : CALLBACK_SKIPPED,
                       none ? REASON_NONE : REASON_IMPORTED);
    }
}

static void tests_are_withheld_where_the_app_says(void)
{
    struct candidate c = candidate_of(EVENT_SURVEY_COMPLETED);
    for (int i = 0; i < 4; i++) {
        terms.withhold_tests = (i & 1) != 0;
        c.is_test = (i & 2) != 0;
        bool withheld = terms.withhold_tests && c.is_test;
        check_callback(c, withheld ? CALLBACK_SKIPPED : CALLBACK_PENDING,
                       withheld ? REASON_NOT_WANTED : REASON_NONE);
    }
    terms.withhold_tests = false;
}

/* Whatever the reversal's settings are: who has heard of the original hears of it. */
static void a_reversed_test_goes_where_it_went(void)
{
    struct candidate c = candidate_of(EVENT_OFFER_COMPLETED);
    struct candidate back = candidate_of(EVENT_OFFER_COMPLETION_REVERSED);
    c.is_test = true;
    for (int i = 0; i < 4; i++) {
        terms.has_url[LANE_TEST] = (i & 1) != 0;
        struct event original = accept(&c, 0);
        CHECK_EQ_INT(original.lane, i & 1 ? LANE_TEST : LANE_OFFER);
        terms.has_url[LANE_TEST] = (i & 2) != 0;
        struct acceptance_facts facts = {.original = &original, .last_event_no = original.event_no};
        struct event e;
        REQUIRE(acceptance_decide(&back, &facts, &e).kind == VERDICT_ACCEPTED);
        CHECK(e.is_test);
        CHECK_EQ_INT(e.lane, i ? LANE_TEST : LANE_OFFER);
        CHECK_EQ_INT(e.reason_skipped, i == 1 ? REASON_NO_URL : REASON_NONE);
    }
    terms.has_url[LANE_TEST] = false;
}

int main(void)
{
    RUN(an_event_known_by_its_key_is_repeated);
    RUN(an_accepted_event_has_the_next_number);
    RUN(copies_what_was_reported);
    RUN(pays_by_the_ratio);
    RUN(starts_and_clicks_pay_nothing);
    RUN(ad_hoc_carries_its_reward);
    RUN(rewards_out_of_range_are_seen_at_intake);
    RUN(disqualifications_are_capped);
    RUN(the_cap_is_about_the_apps_own_payments);
    RUN(a_reversal_negates_its_original);
    RUN(a_reversal_needs_the_right_original);
    RUN(a_reversal_may_not_differ);
    RUN(of_an_erased_panelist_any_id_matches);
    RUN(the_reversal_of_a_test_is_a_test);
    RUN(what_intake_refuses_stays_refused);
    RUN(the_callback_starts_where_it_can_go);
    RUN(tests_are_withheld_where_the_app_says);
    RUN(a_reversed_test_goes_where_it_went);
    return check_done("acceptance");
}
