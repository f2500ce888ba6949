/* Names and classes: what is stored and shown must be said in the contract's words. */
#include "domain/attempt.h"
#include "domain/event.h"
#include "domain/event_type_list.h"

#include "check.h"

static void types_have_names_and_lanes(void)
{
    static const struct {
        enum event_type type;
        const char *name;
        enum lane_kind lane;
        bool offer;
    } rows[] = {
        {1, "survey_started", LANE_NONE, false},
        {2, "survey_completed", LANE_SUCCESS, false},
        {3, "survey_disqualified", LANE_FAILURE, false},
        {4, "profiler_completed", LANE_SUCCESS, false},
        {5, "ad_hoc", LANE_SUCCESS, false},
        {6, "offer_completed", LANE_OFFER, true},
        {7, "offer_clicked", LANE_OFFER, true},
        {8, "offer_completion_reversed", LANE_OFFER, true},
    };
    CHECK_EQ_INT(ARRAY_LEN(rows), EVENT_TYPE_LAST);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        enum event_type back = 0;
        CHECK_CSTR(event_type_name(rows[i].type), rows[i].name);
        CHECK(event_type_parse(str_of(rows[i].name), &back));
        CHECK_EQ_INT(back, rows[i].type);
        CHECK_EQ_INT(event_lane(rows[i].type), rows[i].lane);
        CHECK_EQ_INT(event_type_is_offer(rows[i].type), rows[i].offer);
    }
    static const char *const bad[] = {"", "Survey_Completed", "survey_completed ", "survey",
                                      "none"};
    enum event_type untouched = EVENT_AD_HOC;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!event_type_parse(str_of(bad[i]), &untouched));
    CHECK(!event_type_parse(STR_NONE, &untouched));
    CHECK_EQ_INT(untouched, EVENT_AD_HOC);
    CHECK_ABORTS((void)event_type_name(0));
    CHECK_ABORTS((void)event_lane(EVENT_TYPE_LAST + 1));
}

static void states_reasons_and_lanes_have_names(void)
{
    CHECK_CSTR(callback_state_name(CALLBACK_NONE), "none");
    CHECK_CSTR(callback_state_name(CALLBACK_PENDING), "pending");
    CHECK_CSTR(callback_state_name(CALLBACK_DELIVERING), "delivering");
    CHECK_CSTR(callback_state_name(CALLBACK_DELIVERED), "delivered");
    CHECK_CSTR(callback_state_name(CALLBACK_DEAD), "dead");
    CHECK_CSTR(callback_state_name(CALLBACK_SKIPPED), "skipped");
    CHECK(callback_reason_name(REASON_NONE) == NULL);
    CHECK_CSTR(callback_reason_name(REASON_NO_URL), "no_url");
    CHECK_CSTR(callback_reason_name(REASON_DISABLED), "disabled");
    CHECK_CSTR(callback_reason_name(REASON_IMPORTED), "imported");
    CHECK_CSTR(callback_reason_name(REASON_ATTEMPTS), "attempts");
    CHECK_CSTR(callback_reason_name(REASON_ENDPOINT_DOWN), "endpoint_down");
    CHECK_CSTR(callback_reason_name(REASON_GONE), "gone");
    CHECK_CSTR(callback_reason_name(REASON_FINAL_STATUS), "final_status");
    CHECK_CSTR(callback_reason_name(REASON_NOT_WANTED), "not_wanted");
    CHECK_CSTR(lane_kind_name(LANE_SUCCESS), "success");
    CHECK_CSTR(lane_kind_name(LANE_FAILURE), "failure");
    CHECK_CSTR(lane_kind_name(LANE_OFFER), "offer");
    CHECK_CSTR(lane_kind_name(LANE_TEST), "test");
    CHECK_EQ_UINT(lane_of(7, LANE_OFFER), 38);
}

static void tests_have_a_lane_where_they_have_a_url(void)
{
    struct app_terms terms = {.has_url = {[LANE_SUCCESS] = true}};
    for (int t = EVENT_SURVEY_STARTED; t <= EVENT_TYPE_LAST; t++) {
        enum event_type type = (enum event_type)t;
        enum lane_kind own = event_lane(type);
        terms.has_url[LANE_TEST] = false;
        CHECK_EQ_INT(app_lane(&terms, type, true), own);
        CHECK(app_wants(&terms, type, true, own));
        terms.has_url[LANE_TEST] = true;
        CHECK_EQ_INT(app_lane(&terms, type, false), own);
        CHECK_EQ_INT(app_lane(&terms, type, true), own == LANE_NONE ? LANE_NONE : LANE_TEST);
        CHECK(app_wants(&terms, type, false, own));
        CHECK(!app_wants(&terms, type, true, own)); /* of an event from before */
        CHECK(app_wants(&terms, type, true, LANE_TEST));
    }
}

static void a_reason_belongs_to_one_state(void)
{
    for (int reason = REASON_NONE; reason <= REASON_LAST; reason++) {
        bool skips = reason <= REASON_IMPORTED || reason == REASON_NOT_WANTED;
        enum callback_state wanted = reason == REASON_NONE ? CALLBACK_NONE
                                     : skips               ? CALLBACK_SKIPPED
                                                           : CALLBACK_DEAD;
        CHECK(callback_reason_fits(wanted, (enum callback_reason)reason));
        CHECK_EQ_INT(callback_reason_fits(CALLBACK_PENDING, (enum callback_reason)reason),
                     reason == REASON_NONE);
        CHECK_EQ_INT(callback_reason_fits(CALLBACK_SKIPPED, (enum callback_reason)reason),
                     wanted == CALLBACK_SKIPPED);
        CHECK_EQ_INT(callback_reason_fits(CALLBACK_DEAD, (enum callback_reason)reason),
                     wanted == CALLBACK_DEAD);
    }
}

static void attempt_classes_say_what_counts(void)
{
    static const struct {
        enum attempt_class class;
        const char *name;
        bool counts;
    } rows[] = {
        {0, "ok", false},
        {1, "dns", true},
        {2, "destination_refused", true},
        {3, "refused", true},
        {4, "connect_timeout", true},
        {5, "tls", true},
        {6, "timeout", true},
        {7, "reset", true},
        {8, "protocol", false},
        {9, "redirect", false},
        {11, "gone", false},
        {12, "unexpected_answer", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_CSTR(attempt_class_name(rows[i].class), rows[i].name);
        if (!CHECK_EQ_INT(attempt_counts_against_lane(rows[i].class, 0), rows[i].counts))
            printf("    for %s\n", rows[i].name);
    }
    CHECK_CSTR(attempt_class_name(ATTEMPT_STATUS), "status");
}

static void statuses_are_classed(void)
{
    for (int status = 100; status < 700; status++) {
        enum attempt_class want = ATTEMPT_STATUS;
        if (status < 200)
            want = ATTEMPT_PROTOCOL;
        else if (status < 300)
            want = ATTEMPT_OK;
        else if (status <= 308 && status != 304 && status != 306)
            want = ATTEMPT_REDIRECT;
        else if (status == 410)
            want = ATTEMPT_GONE;
        if (!CHECK_EQ_INT(attempt_class_of_status(status), want))
            printf("    for %d\n", status);
        bool counts = status == 408 || status == 429 || (status >= 500 && status < 600);
        CHECK_EQ_INT(attempt_counts_against_lane(ATTEMPT_STATUS, status), counts);
    }
}

static void a_lane_tells_its_app_and_kind(void)
{
    for (enum lane_kind kind = LANE_NONE; kind < LANE_KINDS; kind++) {
        lane_no lane = lane_of(UINT32_MAX, kind);
        CHECK_EQ_UINT(lane_app_no(lane), UINT32_MAX);
        CHECK_EQ_INT(lane_kind_of(lane), kind);
    }
}

static void types_are_listed_by_name(void)
{
    struct buf list = {0};
    event_types_print(&list, EVENT_TYPES_REWARD);
    CHECK_CSTR(buf_c(&list), "survey_completed, survey_disqualified, profiler_completed, ad_hoc, "
                             "offer_completed, offer_clicked, offer_completion_reversed");
    buf_clear(&list);
    event_types_print(&list, 1u << EVENT_SURVEY_STARTED | 1u << EVENT_AD_HOC);
    CHECK_CSTR(buf_c(&list), "survey_started, ad_hoc");
    buf_free(&list);
}

int main(void)
{
    RUN(a_lane_tells_its_app_and_kind);
    RUN(types_have_names_and_lanes);
    RUN(types_are_listed_by_name);
    RUN(states_reasons_and_lanes_have_names);
    RUN(tests_have_a_lane_where_they_have_a_url);
    RUN(a_reason_belongs_to_one_state);
    RUN(attempt_classes_say_what_counts);
    RUN(statuses_are_classed);
    return check_done("event");
}
