/* The fixed accounts and the sensible items that the store tests start from. */
#include "world.h"

#include <string.h>

#define ALL_URLS                                                                                   \
    {                                                                                              \
        [LANE_SUCCESS] = true, [LANE_FAILURE] = true, [LANE_OFFER] = true, [LANE_TEST] = true      \
    }

const struct app_terms terms_a1 = {
    .account_no = ACCOUNT_A,
    .app_no = APP_A1,
    .currency_micros = 100 * 1000000,
    .disqualification_reward_micros = 500000,
    .disqualification_cap = 2,
    .reward_decimals = 2,
    .negative_ad_hoc = true,
    .has_url = ALL_URLS,
};

const struct app_terms terms_a2 = {
    .account_no = ACCOUNT_A,
    .app_no = APP_A2,
    .currency_micros = 1234567,
    .disqualification_cap = 6,
    .legacy_fields = true,
    .extended_fields = true,
};

const struct app_terms terms_b1 = {
    .account_no = ACCOUNT_B,
    .app_no = APP_B1,
    .currency_micros = 1000000,
    .disqualification_reward_micros = 1000000,
    .disqualification_cap = 6,
    .reward_decimals = 6,
    .legacy_fields = true,
    .has_url = ALL_URLS,
    .lane_disabled = {[LANE_FAILURE] = true},
};

const struct app_terms *terms_of(uint32_t app_no)
{
    return app_no == APP_A1 ? &terms_a1 : app_no == APP_A2 ? &terms_a2 : &terms_b1;
}

struct candidate item_of(uint32_t app_no, enum event_type type, const char *id)
{
    struct candidate c = {
        .terms = terms_of(app_no),
        .client_no = app_no * 10,
        .integration = INTEGRATION_SDK,
        .type = type,
        .deliver = true,
        .occurred_ms = BASE_MS,
        .event_id = str_of(id),
        .client_id = STR("client"),
        .panelist_id = STR("panelist"),
    };
    if (type == EVENT_SURVEY_COMPLETED || type == EVENT_OFFER_COMPLETED) {
        c.has_revenue = true;
        c.revenue_micros = 1250000;
    }
    if (type == EVENT_AD_HOC) {
        c.has_reward = true;
        c.reward_micros = 3000000;
    }
    if (event_type_is_offer(type)) {
        c.offer_id = 77;
        c.offer_title = STR("Title");
    }
    return c;
}

struct candidate item(enum event_type type, const char *id)
{
    return item_of(APP_A1, type, id);
}

struct candidate reversal(const char *id, const char *original)
{
    struct candidate c = item(EVENT_OFFER_COMPLETION_REVERSED, id);
    c.offer_id = 0;
    c.offer_title = STR_NONE;
    c.original_reward_id = str_of(original);
    return c;
}

struct outcome outcome_of(uint32_t account_no, uint64_t event_no, enum lane_kind lane,
                          uint32_t app_no, int32_t number, enum callback_state state,
                          int64_t due_ms)
{
    bool good = state == CALLBACK_DELIVERED;
    return (struct outcome){
        .account_no = account_no,
        .event_no = event_no,
        .lane = lane_of(app_no, lane),
        .has_attempt = true,
        .attempt = {.number = number,
                    .at_ms = BASE_MS + number,
                    .duration_ms = 12,
                    .status = good ? 200 : 503,
                    .class = good ? ATTEMPT_OK : ATTEMPT_STATUS,
                    .url = STR("http://receiver.example/cb"),
                    .detail = good ? STR("") : STR("The receiver answered 503."),
                    .request_headers = STR("Postbackd-Attempt: 1\n"),
                    .response_headers = STR("Server: x\n"),
                    .response_body = STR("\xff not text")},
        .state = state,
        .reason = state == CALLBACK_DEAD ? (enum callback_reason)(REASON_ATTEMPTS + number % 4)
                                         : REASON_NONE,
        .place = {.failed_attempts = good ? 0 : number, .slot = number, .due_ms = due_ms},
    };
}
