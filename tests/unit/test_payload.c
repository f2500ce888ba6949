/* The body of every kind of callback, byte for byte. */
#include "domain/payload.h"

#include "domain/clock.h"
#include "domain/signature.h"

#include "check.h"

#define BLANK "00000000000000000000000000000000"
#define SECRET STR("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3")
#define NOON "2026-11-20T12:00:00.000Z"

static const struct payload_options sdk = {.client_id = STR("c_1"), .integration = INTEGRATION_SDK};

static struct event event_of(enum event_type type)
{
    struct event e = {
        .type = type,
        .lane = event_lane(type),
        .reward_decimals = 2,
        .reward_micros = 72000000,
        .revenue_micros = 350000,
        .event_id = STR("r-1"),
        .panelist_id = STR("user-\xc3\xbc/1"),
    };
    if (!clock_parse_rfc3339(STR(NOON), &e.occurred_ms))
        UNREACHABLE();
    if (event_type_is_offer(type)) {
        e.offer_id = 12345;
        e.offer_title = STR("Ti<tle>");
    }
    return e;
}

static void check_body(const struct event *e, const struct payload_options *o, const char *want)
{
    struct buf b = {0};
    buf_add_c(&b, "before "); /* offsets are the body's, not the buffer's */
    uint16_t signature_offset = payload_print(&b, e, o);
    buf_consume(&b, strlen("before "));
    CHECK_STR(b, want);
    CHECK_BYTES(b.p + BODY_SIG_OFFSET, 32, BLANK, 32);
    const char *signature = strstr(want, "\"Signature\":\"");
    CHECK_EQ_INT(signature_offset,
                 signature ? signature - want + (int)strlen("\"Signature\":\"") : 0);
    buf_free(&b);
}

static void decimals_are_trimmed_where_the_app_says(void)
{
    static const struct {
        int64_t micros;
        const char *trimmed;
    } rows[] = {{72000000, "72"},    {72500000, "72.5"}, {0, "0"},
                {-1250000, "-1.25"}, {1, "0.000001"},    {100000000, "100"}};
    struct payload_options o = {.client_id = STR("c_1"), .trim_decimals = true};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct event e = event_of(EVENT_AD_HOC);
        struct buf want = {0};
        e.reward_micros = e.revenue_micros = rows[i].micros;
        buf_printf(&want,
                   "{\"Sig\":\"" BLANK "\",\"PanelistId\":\"user-\xc3\xbc/1\","
                   "\"RewardType\":\"ad_hoc\",\"RewardId\":\"r-1\",\"Reward\":%s,"
                   "\"RevenueAmount\":%s,\"IsTest\":false}",
                   rows[i].trimmed, rows[i].trimmed);
        check_body(&e, &o, buf_c(&want));
        buf_free(&want);
    }
}

static void a_goal_is_a_number_where_it_is_one(void)
{
    static const struct {
        struct str goal;
        const char *sent;
    } rows[] = {{STR("5"), "5"},
                {STR("0"), "0"},
                {STR("999999999999999"), "999999999999999"},
                {STR("1000000000000000"), "\"1000000000000000\""}, /* perhaps beyond 2^53 */
                {STR("05"), "\"05\""},
                {STR("-5"), "\"-5\""},
                {STR("5.0"), "\"5.0\""},
                {STR("5e1"), "\"5e1\""},
                {STR(" 5"), "\" 5\""},
                {STR("goal"), "\"goal\""},
                {STR(""), "\"\""},
                {STR_NONE, "null"}};
    struct payload_options o = {.client_id = STR("c_1"), .numeric_goal_ids = true};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct event e = event_of(EVENT_OFFER_CLICKED);
        struct buf b = {0}, want = {0};
        e.offer_goal_id = rows[i].goal;
        buf_printf(&want, ",\"OfferGoalId\":%s,\"OfferTitle\"", rows[i].sent);
        (void)payload_print(&b, &e, &o);
        CHECK(strstr(buf_c(&b), buf_c(&want)) != NULL);
        buf_free(&b);
        buf_free(&want);
    }
}

static void signed_bodies_match_the_vectors(void)
{
    static const struct {
        const char *reward_id, *body, *webhook;
    } rows[] = {
        {"r-1",
         "{\"Sig\":\"68814bd5ca811bc95364ba60868977a8\",\"PanelistId\":\"user-\xc3\xbc/1\","
         "\"RewardType\":\"survey_completed\",\"RewardId\":\"r-1\",\"Reward\":72.00,"
         "\"SessionId\":\"s \\\"1\\\"\",\"RevenueAmount\":0.35,\"IsTest\":false}",
         "v1,w0WTbsLn7HQtTdHV6B9cjz5B0AY0+x7aaQGZQDgu0Y8="},
        {"c-1",
         "{\"Sig\":\"1869117705bdee1a6406e206fb0100d6\",\"OfferId\":12345,\"OfferGoalId\":null,"
         "\"OfferTitle\":\"Ti<tle>\",\"PanelistId\":\"user-\xc3\xbc/1\","
         "\"RewardType\":\"offer_clicked\",\"RewardId\":\"c-1\",\"Reward\":0.00,"
         "\"RevenueAmount\":0.00,\"ClientId\":\"c_1\",\"Timestamp\":\"2026-11-20T12:00:00.000Z\"}",
         "v1,Dm53LZZmtev/4bFFucI7Mz53YOBDibcXMWvNOWFxeNY="},
    };
    struct event events[] = {event_of(EVENT_SURVEY_COMPLETED), event_of(EVENT_OFFER_CLICKED)};
    events[0].session_id = STR("s \"1\"");
    events[1].event_id = STR("c-1");
    events[1].reward_micros = events[1].revenue_micros = 0;
    for (size_t i = 0; i < 2; i++) {
        struct buf b = {0};
        char hex[SIG_HEX_BYTES], webhook[WEBHOOK_SIGNATURE_BYTES];
        uint16_t offset = payload_print(&b, &events[i], &sdk);
        signature_sig(events[i].panelist_id, events[i].event_id, SECRET, hex);
        payload_sign(b.p, offset, hex);
        CHECK_STR(b, rows[i].body);
        signature_webhook(SECRET, events[i].event_id, 1763726400, buf_str(&b), webhook);
        CHECK_CSTR(webhook, rows[i].webhook);
        buf_free(&b);
    }
}

#define SURVEY_HEAD(type)                                                                          \
    "{\"Sig\":\"" BLANK "\",\"PanelistId\":\"user-\xc3\xbc/1\","                                   \
    "\"RewardType\":\"" type "\",\"RewardId\":\"r-1\","
#define SURVEY_PAID "\"Reward\":72.00,\"RevenueAmount\":0.35,\"IsTest\":false}"

static void survey_bodies_of_every_type(void)
{
    struct event e = event_of(EVENT_SURVEY_COMPLETED);
    check_body(&e, &sdk, SURVEY_HEAD("survey_completed") SURVEY_PAID);
    e = event_of(EVENT_PROFILER_COMPLETED);
    check_body(&e, &sdk, SURVEY_HEAD("profiler_completed") SURVEY_PAID);
    e = event_of(EVENT_AD_HOC);
    e.original_reward_id = STR("o-1"); /* known to the log, no field of this body */
    e.reason = STR("ticket 7");
    check_body(&e, &sdk, SURVEY_HEAD("ad_hoc") SURVEY_PAID);
    e.reward_micros = -72000000;
    e.revenue_micros = -1500000;
    check_body(&e, &sdk,
               SURVEY_HEAD("ad_hoc") "\"Reward\":-72.00,\"RevenueAmount\":-1.50,\"IsTest\":false}");
    e = event_of(EVENT_SURVEY_DISQUALIFIED);
    e.reward_micros = 500000;
    e.revenue_micros = 0;
    e.is_test = true;
    check_body(&e, &sdk,
               SURVEY_HEAD("survey_disqualified") "\"Reward\":0.50,\"RevenueAmount\":0.00,"
                                                  "\"IsTest\":true}");
    e = event_of(EVENT_SURVEY_STARTED);
    struct buf b = {0};
    CHECK_ABORTS((void)payload_print(&b, &e, &sdk)); /* it owes no callback */
}

static void session_and_mid_by_integration(void)
{
    struct payload_options iframe = sdk, api = sdk;
    iframe.integration = INTEGRATION_IFRAME;
    api.integration = INTEGRATION_MONETIZATION_API;
    struct event e = event_of(EVENT_SURVEY_COMPLETED);
    check_body(&e, &api, SURVEY_HEAD("survey_completed") SURVEY_PAID);
    e.session_id = STR("s");
    e.mid = STR("m");
#define WITH(field)                                                                                \
    SURVEY_HEAD("survey_completed")                                                                \
    "\"Reward\":72.00," field "\"RevenueAmount\":0.35,\"IsTest\":false}"
    check_body(&e, &sdk, WITH("\"SessionId\":\"s\","));
    check_body(&e, &iframe, WITH("\"SessionId\":\"s\","));
    check_body(&e, &api, WITH("\"Mid\":\"m\","));
    e.session_id = e.mid = STR("");
    check_body(&e, &sdk, WITH("\"SessionId\":\"\",")); /* an empty string is a value */
    check_body(&e, &api, WITH("\"Mid\":\"\","));
}

static void legacy_and_extended_fields(void)
{
    struct payload_options o = sdk;
    struct event e = event_of(EVENT_SURVEY_COMPLETED);
#define PAID                                                                                       \
    SURVEY_HEAD("survey_completed")                                                                \
    "\"Reward\":72.00,\"RevenueAmount\":0.35,"                                                     \
    "\"IsTest\":false"
#define LEGACY ",\"Signature\":\"" BLANK "\",\"UniqueSurveyId\":\"r-1\""
#define EXTENDED ",\"ClientId\":\"c_1\",\"Timestamp\":\"" NOON "\""
    o.legacy_fields = true;
    check_body(&e, &o, PAID LEGACY "}");
    o.extended_fields = true;
    check_body(&e, &o, PAID LEGACY EXTENDED "}");
    o.legacy_fields = false;
    check_body(&e, &o, PAID EXTENDED "}");
}

static void signature_is_filled_where_it_stands(void)
{
    struct payload_options o = {.client_id = STR("c"), .legacy_fields = true, .integration = 1};
    struct event e = event_of(EVENT_SURVEY_COMPLETED);
    e.session_id = STR("\"Signature\":\"x\""); /* the search would find this one first */
    struct buf b = {0};
    uint16_t offset = payload_print(&b, &e, &o);
    payload_sign(b.p, offset, "0123456789abcdef0123456789abcdef");
    CHECK_STR(b, "{\"Sig\":\"0123456789abcdef0123456789abcdef\",\"PanelistId\":\"user-\xc3\xbc/1\","
                 "\"RewardType\":\"survey_completed\",\"RewardId\":\"r-1\",\"Reward\":72.00,"
                 "\"SessionId\":\"\\\"Signature\\\":\\\"x\\\"\",\"RevenueAmount\":0.35,"
                 "\"IsTest\":false,\"Signature\":\"0123456789abcdef0123456789abcdef\","
                 "\"UniqueSurveyId\":\"r-1\"}");
    buf_free(&b);
}

#define OFFER_HEAD(goal, type)                                                                     \
    "{\"Sig\":\"" BLANK "\",\"OfferId\":12345,\"OfferGoalId\":" goal                               \
    ",\"OfferTitle\":\"Ti<tle>\",\"PanelistId\":\"user-\xc3\xbc/1\",\"RewardType\":\"" type        \
    "\",\"RewardId\":\"r-1\","
#define OFFER_TAIL "\"ClientId\":\"c_1\",\"Timestamp\":\"" NOON "\""

static void offer_bodies_of_every_type(void)
{
    struct event e = event_of(EVENT_OFFER_COMPLETED);
    check_body(&e, &sdk,
               OFFER_HEAD("null", "offer_completed") "\"Reward\":72.00,"
                                                     "\"RevenueAmount\":0.35," OFFER_TAIL "}");
    e.offer_goal_id = STR("77");
    e.session_id = STR("s");
    check_body(
        &e, &sdk,
        OFFER_HEAD("\"77\"",
                   "offer_completed") "\"Reward\":72.00,"
                                      "\"RevenueAmount\":0.35,\"SessionId\":\"s\"," OFFER_TAIL "}");
    e.is_test = true;
    check_body(
        &e, &sdk,
        OFFER_HEAD("\"77\"",
                   "offer_completed") "\"Reward\":72.00,"
                                      "\"RevenueAmount\":0.35,\"SessionId\":\"s\"," OFFER_TAIL
                                      ",\"IsTest\":true}");

    e = event_of(EVENT_OFFER_COMPLETION_REVERSED);
    e.reward_micros = -72000000;
    e.revenue_micros = -350000;
    e.original_reward_id = STR("o-1");
    e.offer_goal_id = STR("");
    check_body(&e, &sdk,
               OFFER_HEAD("\"\"", "offer_completion_reversed") "\"Reward\":-72.00,"
                                                               "\"RevenueAmount\":-0.35," OFFER_TAIL
                                                               ",\"OriginalRewardId\":\"o-1\"}");
    e.is_test = true;
    check_body(&e, &sdk,
               OFFER_HEAD("\"\"", "offer_completion_reversed") "\"Reward\":-72.00,"
                                                               "\"RevenueAmount\":-0.35," OFFER_TAIL
                                                               ",\"OriginalRewardId\":\"o-1\","
                                                               "\"IsTest\":true}");
}

/* Offers are the same for every integration and know neither switch nor Mid. */
static void offers_ignore_survey_settings(void)
{
    struct event e = event_of(EVENT_OFFER_CLICKED);
    e.reward_micros = e.revenue_micros = 0;
    e.session_id = STR("s");
    e.mid = STR("m");
    struct payload_options o = {.client_id = STR("c_1"),
                                .legacy_fields = true,
                                .extended_fields = true,
                                .integration = INTEGRATION_MONETIZATION_API};
    check_body(
        &e, &o,
        OFFER_HEAD("null", "offer_clicked") "\"Reward\":0.00,"
                                            "\"RevenueAmount\":0.00,\"SessionId\":\"s\"," OFFER_TAIL
                                            "}");
}

static void reward_digits_follow_the_app(void)
{
    static const char *const whole[] = {"72", "72.0", "72.00", "72.00", "72.00", "72.00", "72.00"};
    static const char *const fine[] = {"0.012346", "0.012346", "0.012346", "0.012346",
                                       "0.012346", "0.012346", "0.012346"};
    for (uint8_t decimals = 0; decimals <= 6; decimals++) {
        struct event e = event_of(EVENT_SURVEY_COMPLETED);
        char want[512];
        e.reward_decimals = decimals;
        snprintf(want, sizeof want, "%s\"Reward\":%s,\"RevenueAmount\":0.35,\"IsTest\":false}",
                 SURVEY_HEAD("survey_completed"), whole[decimals]);
        check_body(&e, &sdk, want);
        e.reward_micros = 12346; /* its own Reward, finer than the app's digits: as it is */
        e.revenue_micros = 1000000000000;
        snprintf(want, sizeof want,
                 "%s\"Reward\":%s,\"RevenueAmount\":1000000.00,\"IsTest\":false}",
                 SURVEY_HEAD("survey_completed"), fine[decimals]);
        check_body(&e, &sdk, want);
    }
}

static void check_string(struct str s, const char *want)
{
    struct buf b = {0};
    payload_print_string(&b, s);
    CHECK_STR(b, want);
    buf_free(&b);
}

static void escapes_only_what_must_be(void)
{
    check_string(STR(""), "\"\"");
    check_string(STR_NONE, "\"\"");
    check_string(STR("plain"), "\"plain\"");
    check_string(STR("\"\\"), "\"\\\"\\\\\"");
    check_string(STR("a\"b\\c"), "\"a\\\"b\\\\c\"");
    check_string(STR("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"");
    check_string(STR("\x01\x0b\x1f"), "\"\\u0001\\u000b\\u001f\"");
    check_string(STR("</script>&'\x7f"), "\"</script>&'\x7f\"");
    check_string(STR("\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\xe2\x80\xa8"),
                 "\"\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\xe2\x80\xa8\"");
    for (int c = 0; c < 0x20; c++) {
        struct buf b = {0};
        char byte = (char)c;
        payload_print_string(&b, (struct str){&byte, 1});
        CHECK(b.n == 4 || b.n == 8);
        CHECK_EQ_INT(b.p[1], '\\');
        buf_free(&b);
    }
}

/* The longest texts that intake lets through, all of them escaped to six bytes each. */
static void the_longest_body_keeps_its_offsets(void)
{
    static char ones[1024];
    memset(ones, 1, sizeof ones);
    struct payload_options o = {.client_id = STR("c_1"),
                                .legacy_fields = true,
                                .integration = INTEGRATION_MONETIZATION_API};
    struct event e = event_of(EVENT_SURVEY_COMPLETED);
    e.panelist_id = (struct str){ones, 256};
    e.mid = (struct str){ones, 1024};
    struct buf b = {0};
    uint16_t offset = payload_print(&b, &e, &o);
    CHECK(offset > 7000);
    CHECK_BYTES(b.p + offset - 13, 13, "\"Signature\":\"", 13);
    CHECK_BYTES(b.p + offset, 33, BLANK "\"", 33);
    buf_free(&b);
}

int main(void)
{
    RUN(signed_bodies_match_the_vectors);
    RUN(survey_bodies_of_every_type);
    RUN(session_and_mid_by_integration);
    RUN(legacy_and_extended_fields);
    RUN(decimals_are_trimmed_where_the_app_says);
    RUN(a_goal_is_a_number_where_it_is_one);
    RUN(signature_is_filled_where_it_stands);
    RUN(offer_bodies_of_every_type);
    RUN(offers_ignore_survey_settings);
    RUN(reward_digits_follow_the_app);
    RUN(escapes_only_what_must_be);
    RUN(the_longest_body_keeps_its_offsets);
    return check_done("payload");
}
