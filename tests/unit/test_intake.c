/*
 * Taking in: every rule of an event's fields, each item alone, the three forms of a body, what
 * counts as the same content, and the answer.
 */
#include "accounts_fixture.h"

#include "base/limits.h"
#include "domain/clock.h"
#include "intake/intake.h"
#include "intake/intake_answer.h"

static struct fixture f;
static struct intake *intake;
static struct intake_items items;
static struct str why;
static const struct hash_secret secret = {{1, 2, 3}};

/* p1 has app a1 with clients c1 (sdk), c2 (monetization_api) and c9 (disabled); p2's app a2
 * allows negative ad_hoc; p3 is disabled. */
static bool open_world(void)
{
    fixture_open(&f);
    bool good =
        fixture_partner(&f, "{\"PartnerId\":\"p1\"}") &&
        fixture_partner(&f, "{\"PartnerId\":\"p2\"}") &&
        fixture_partner(&f, "{\"PartnerId\":\"p3\",\"Enabled\":false}") &&
        fixture_app(&f, "p1", "{\"AppId\":\"a1\",\"CurrencyValue\":100,\"Enabled\":false}") &&
        fixture_app(&f, "p2",
                    "{\"AppId\":\"a2\",\"CurrencyValue\":1000000,\"NegativeAdHoc\":true}") &&
        fixture_app(&f, "p3", "{\"AppId\":\"a3\",\"CurrencyValue\":1}") &&
        fixture_client(&f, "a1", "{\"ClientId\":\"c1\"}") &&
        fixture_client(&f, "a1", "{\"ClientId\":\"c2\",\"Integration\":\"monetization_api\"}") &&
        fixture_client(&f, "a1", "{\"ClientId\":\"c9\",\"Enabled\":false}") &&
        fixture_client(&f, "a2", "{\"ClientId\":\"n1\"}") &&
        fixture_client(&f, "a3", "{\"ClientId\":\"d1\"}");
    intake = intake_new(f.directory, &secret);
    return good;
}

static void close_world(void)
{
    intake_free(intake);
    fixture_close(&f);
}

static enum intake_result take(struct str body, enum intake_format format)
{
    struct intake_request request = {.body = body, .format = format, .now_ms = f.now_ms};
    items = (struct intake_items){0};
    why = STR_NONE;
    return intake_read(intake, &request, &f.arena, &items, &why);
}

/* "Field code, ...": of the only item, which was rejected or is refused; "" when it was good. */
static struct str faults_of(const char *body)
{
    struct buf text = {0};
    if (take(str_of(body), INTAKE_JSON) != INTAKE_READ || items.count + items.rejected_count != 1)
        return STR("not read");
    const struct problem *p =
        items.rejected_count ? items.rejected[0].faults.first : items.refusals[0].first;
    for (; p; p = p->next)
        buf_printf(&text, "%s%.*s %s", text.n ? ", " : "", STR_ARG(p->field), p->code);
    struct str s = arena_str(&f.arena, buf_str(&text));
    buf_free(&text);
    return s;
}

/* The candidate of a good item; ends the test program otherwise. */
static const struct candidate *good(const char *body)
{
    struct str faults = faults_of(body);
    if (faults.n)
        printf("%s: %.*s\n", body, STR_ARG(faults));
    ASSERT(faults.n == 0 && items.count == 1);
    return &items.items[0];
}

#define COMPLETED "\"Type\":\"survey_completed\",\"ClientId\":\"c1\",\"PanelistId\":\"u\","
#define OFFER "\"ClientId\":\"c1\",\"PanelistId\":\"u\",\"OfferId\":7,\"OfferTitle\":\"t\","

static void reads_all_fields(void)
{
    REQUIRE(open_world());
    const struct candidate *c =
        good("{\"EventId\":\"e-1:a_\",\"Type\":\"survey_completed\",\"ClientId\":\"c2\","
             "\"PanelistId\":\"user-\xc3\xbc/1\",\"Timestamp\":\"2025-11-21T13:59:59.9999+02:00\","
             "\"RevenueAmount\":\"0.35\",\"Reward\":7.2e1,\"SessionId\":\"\",\"Mid\":\"m\","
             "\"IsTest\":true}");
    CHECK_STR(c->event_id, "e-1:a_");
    CHECK_EQ_INT(c->type, EVENT_SURVEY_COMPLETED);
    CHECK_STR(c->client_id, "c2");
    CHECK_EQ_UINT(c->client_no, 2);
    CHECK_EQ_INT(c->integration, INTEGRATION_MONETIZATION_API);
    CHECK_EQ_UINT(c->terms->app_no, 1);
    CHECK_EQ_UINT(c->terms->account_no, 1);
    CHECK_EQ_INT(c->terms->currency_micros, 100000000);
    CHECK_STR(c->panelist_id, "user-\xc3\xbc/1");
    CHECK_EQ_INT(c->occurred_ms, f.now_ms - 1);
    CHECK(c->has_revenue && c->revenue_micros == 350000);
    CHECK(c->has_reward && c->reward_micros == 72000000);
    CHECK_STR(c->session_id, "");
    CHECK_STR(c->mid, "m");
    CHECK(c->is_test && c->deliver && !c->refused);
    CHECK(c->reason.p == NULL && c->offer_title.p == NULL && c->offer_id == 0);
    close_world();
}

static void reads_offers_and_reversals(void)
{
    REQUIRE(open_world());
    const struct candidate *c = good("{\"EventId\":\"e\",\"Type\":\"offer_completed\"," OFFER
                                     "\"OfferGoalId\":\"g\",\"RevenueAmount\":1}");
    CHECK_EQ_INT(c->offer_id, 7);
    CHECK_STR(c->offer_title, "t");
    CHECK_STR(c->offer_goal_id, "g");
    CHECK_EQ_INT(c->occurred_ms, f.now_ms);
    CHECK(!c->is_test && !c->has_reward);
    c = good("{\"EventId\":\"e\",\"Type\":\"offer_clicked\"," OFFER
             "\"OfferGoalId\":\"g\",\"Reward\":0,\"RevenueAmount\":0.00}");
    CHECK(c->offer_goal_id.p == NULL && !c->has_reward && !c->has_revenue);
    c = good("{\"EventId\":\"r\",\"Type\":\"offer_completion_reversed\",\"ClientId\":\"c1\","
             "\"OriginalRewardId\":\"e\",\"Reason\":\"chargeback\"}");
    CHECK_STR(c->original_reward_id, "e");
    CHECK_STR(c->reason, "chargeback");
    CHECK(c->panelist_id.p == NULL && c->offer_id == 0);
    c = good("{\"EventId\":\"r\",\"Type\":\"offer_completion_reversed\"," OFFER
             "\"OriginalRewardId\":\"e\",\"OfferGoalId\":null}");
    CHECK_STR(c->panelist_id, "u");
    CHECK_EQ_INT(c->offer_id, 7);
    c = good("{\"EventId\":\"e\",\"Type\":\"survey_disqualified\",\"ClientId\":\"c1\","
             "\"PanelistId\":\"u\",\"Reason\":\"quota\"}");
    CHECK(!c->has_revenue && !c->has_reward);
    c = good("{\"EventId\":\"e\",\"Type\":\"ad_hoc\",\"ClientId\":\"n1\",\"PanelistId\":\"u\","
             "\"Reward\":-5,\"RevenueAmount\":-0.5,\"OriginalRewardId\":null,\"Reason\":\"\"}");
    CHECK_EQ_INT(c->reward_micros, -5000000);
    CHECK_EQ_INT(c->revenue_micros, -500000);
    CHECK(c->original_reward_id.p == NULL);
    close_world();
}

/* Texts with escapes live in the arena, not in the tree that is gone by now. */
static void escaped_texts_stay(void)
{
    REQUIRE(open_world());
    const struct candidate *c =
        good("{\"EventId\":\"\\u0065-1\",\"Type\":\"\\u0061d_hoc\",\"ClientId\":\"\\u0063\\u0031\","
             "\"PanelistId\":\"u\\n\",\"Reward\":1,\"SessionId\":\"\\\"s\\\"\",\"Mid\":"
             "\"\\ud83d\\ude00\","
             "\"OriginalRewardId\":\"\\u006f\",\"Reason\":\"\\\\\"}");
    CHECK_STR(c->event_id, "e-1");
    CHECK_STR(c->client_id, "c1");
    CHECK_STR(c->panelist_id, "u\n");
    CHECK_STR(c->session_id, "\"s\"");
    CHECK_STR(c->mid, "\xf0\x9f\x98\x80");
    CHECK_STR(c->original_reward_id, "o");
    CHECK_STR(c->reason, "\\");
    CHECK(key128_eq(c->key, event_key(&secret, 1, STR("e-1"))));
    c = good(
        "{\"EventId\":\"e\",\"Type\":\"offer_completed\",\"ClientId\":\"c1\",\"PanelistId\":\"u\","
        "\"OfferId\":7,\"OfferTitle\":\"\\t\",\"OfferGoalId\":\"\\/\",\"RevenueAmount\":1}");
    CHECK_STR(c->offer_title, "\t");
    CHECK_STR(c->offer_goal_id, "/");
    CHECK_EQ_INT(take(STR("{\"EventId\":\"\\u0065\",\"\\u0058\":1}"), INTAKE_JSON), INTAKE_READ);
    REQUIRE(items.rejected_count == 1);
    CHECK_STR(items.rejected[0].event_id, "e");
    CHECK_STR(items.rejected[0].faults.first->field, "X");
    CHECK_EQ_INT(take(STR("[\"\\x\"]"), INTAKE_JSON), INTAKE_UNREADABLE);
    CHECK_STR(why, "an unknown escape at byte 2");
    close_world();
}

#define E "{\"EventId\":\"e\","
#define GOOD E COMPLETED
#define STARTED E "\"Type\":\"survey_started\","
#define CLICKED E "\"Type\":\"offer_clicked\","
#define AD_HOC E "\"Type\":\"ad_hoc\",\"ClientId\":\"c1\",\"PanelistId\":\"u\""
#define REVERSED E "\"Type\":\"offer_completion_reversed\",\"ClientId\":\"c1\""

static const struct {
    const char *body, *faults;
} wrong[] = {
    {"{}", "EventId required, Type required, ClientId required"},
    {"[7]", " invalid"},
    {GOOD "\"RevenueAmount\":1,\"X\":{\"y\":[1]}}", "X unknown_field"},
    {GOOD "\"RevenueAmount\":1,\"eventId\":\"f\"}", "eventId unknown_field"},
    {E "\"EventId\":\"e\"," COMPLETED "\"RevenueAmount\":1}", "EventId invalid"},
    {"{\"EventId\":\"-e\"," COMPLETED "\"RevenueAmount\":1}", "EventId invalid"},
    {"{\"EventId\":\"\"," COMPLETED "\"RevenueAmount\":1}", "EventId invalid"},
    {"{\"EventId\":\"e e\"," COMPLETED "\"RevenueAmount\":1}", "EventId invalid"},
    {"{\"EventId\":\"e.\"," COMPLETED "\"RevenueAmount\":1}", "EventId invalid"},
    {"{\"EventId\":7," COMPLETED "\"RevenueAmount\":1}", "EventId invalid"},
    {"{\"EventId\":null," COMPLETED "\"RevenueAmount\":1}", "EventId invalid"},
    {E "\"Type\":\"survey\",\"ClientId\":\"c1\",\"PanelistId\":\"u\"}", "Type invalid"},
    {E "\"Type\":1,\"ClientId\":\"c1\",\"PanelistId\":\"u\"}", "Type invalid"},
    {STARTED "\"ClientId\":\"c3\",\"PanelistId\":\"u\"}", "ClientId unknown_client"},
    {STARTED "\"ClientId\":\"\",\"PanelistId\":\"u\"}", "ClientId unknown_client"},
    {STARTED "\"ClientId\":1,\"PanelistId\":\"u\"}", "ClientId invalid"},
    {STARTED "\"ClientId\":\"c9\",\"PanelistId\":\"u\"}", "ClientId disabled"},
    {STARTED "\"ClientId\":\"d1\",\"PanelistId\":\"u\"}", "ClientId disabled"},
    {STARTED "\"ClientId\":\"c1\",\"PanelistId\":\"\"}", "PanelistId out_of_range"},
    {STARTED "\"ClientId\":\"c1\"}", "PanelistId required"},
    {STARTED "\"ClientId\":\"c1\",\"PanelistId\":5}", "PanelistId invalid"},
    {GOOD "\"SessionId\":1}", "RevenueAmount required, SessionId invalid"},
    {GOOD "\"RevenueAmount\":-0.01}", "RevenueAmount out_of_range"},
    {GOOD "\"RevenueAmount\":1000000.01}", "RevenueAmount out_of_range"},
    {GOOD "\"RevenueAmount\":0.0000001}", "RevenueAmount invalid"},
    {GOOD "\"RevenueAmount\":1e999}", "RevenueAmount out_of_range"},
    {GOOD "\"RevenueAmount\":\"1,5\"}", "RevenueAmount invalid"},
    {GOOD "\"RevenueAmount\":null}", "RevenueAmount invalid"},
    {GOOD "\"RevenueAmount\":[1]}", "RevenueAmount invalid"},
    {GOOD "\"RevenueAmount\":1,\"Reward\":1000000000.000001}", "Reward out_of_range"},
    {GOOD "\"RevenueAmount\":1,\"Reward\":true}", "Reward invalid"},
    {E "\"Type\":\"survey_completed\",\"ClientId\":\"n1\",\"PanelistId\":\"u\",\"RevenueAmount\":"
       "1000.01}",
     "Reward out_of_range"},
    {GOOD "\"RevenueAmount\":1,\"IsTest\":1}", "IsTest invalid"},
    {GOOD "\"RevenueAmount\":1,\"IsTest\":null}", "IsTest invalid"},
    {GOOD "\"RevenueAmount\":1,\"Timestamp\":\"2025-11-21\"}", "Timestamp invalid"},
    {GOOD "\"RevenueAmount\":1,\"Timestamp\":\"2025-11-21T12:00:00\"}", "Timestamp invalid"},
    {GOOD "\"RevenueAmount\":1,\"Timestamp\":1763726400}", "Timestamp invalid"},
    {GOOD "\"RevenueAmount\":1,\"OfferId\":1,\"Reason\":\"r\",\"OriginalRewardId\":\"o\"}",
     "OfferId invalid, OriginalRewardId invalid, Reason invalid"},
    {STARTED "\"ClientId\":\"c1\",\"PanelistId\":\"u\",\"Reward\":0.01}", "Reward invalid"},
    {CLICKED OFFER "\"RevenueAmount\":1}", "RevenueAmount invalid"},
    {CLICKED OFFER "\"Mid\":\"m\"}", "Mid invalid"},
    {E "\"Type\":\"offer_completed\",\"ClientId\":\"c1\",\"PanelistId\":\"u\"}",
     "RevenueAmount required, OfferId required, OfferTitle required"},
    {CLICKED "\"ClientId\":\"c1\",\"PanelistId\":\"u\",\"OfferId\":0,\"OfferTitle\":\"\"}",
     "OfferTitle out_of_range, OfferId out_of_range"},
    {CLICKED
     "\"ClientId\":\"c1\",\"PanelistId\":\"u\",\"OfferId\":9007199254740992,\"OfferTitle\":\"t\"}",
     "OfferId out_of_range"},
    {CLICKED "\"ClientId\":\"c1\",\"PanelistId\":\"u\",\"OfferId\":99999999999999999999999999999,"
             "\"OfferTitle\":\"t\"}",
     "OfferId out_of_range"},
    {CLICKED "\"ClientId\":\"c1\",\"PanelistId\":\"u\",\"OfferId\":\"1\",\"OfferTitle\":\"t\"}",
     "OfferId invalid"},
    {CLICKED "\"ClientId\":\"c1\",\"PanelistId\":\"u\",\"OfferId\":1.5,\"OfferTitle\":\"t\"}",
     "OfferId invalid"},
    {AD_HOC "}", "Reward required"},
    {AD_HOC ",\"Reward\":-1}", "Reason required, Reward out_of_range"},
    {AD_HOC ",\"Reward\":-1,\"Reason\":null}", "Reason required, Reward out_of_range"},
    {AD_HOC ",\"Reward\":0,\"RevenueAmount\":-1}", "Reason required, RevenueAmount out_of_range"},
    {AD_HOC ",\"Reward\":-1,\"RevenueAmount\":1,\"Reason\":\"r\"}",
     "RevenueAmount invalid, Reward out_of_range"},
    {AD_HOC ",\"Reward\":1,\"RevenueAmount\":-1,\"Reason\":\"r\"}",
     "RevenueAmount invalid, RevenueAmount out_of_range"},
    {"{\"EventId\":\"test_1\"," COMPLETED "\"RevenueAmount\":1}", "EventId invalid"},
    {"{\"EventId\":\"test_\"," COMPLETED "\"RevenueAmount\":1}", "EventId invalid"},
    {CLICKED OFFER "\"OfferGoalId\":1e3}", "OfferGoalId invalid"},
    {REVERSED "}", "OriginalRewardId required"},
    {REVERSED ",\"OriginalRewardId\":null}", "OriginalRewardId invalid"},
    {REVERSED ",\"OriginalRewardId\":\"o\",\"RevenueAmount\":-1}", "RevenueAmount invalid"},
};

static void faults_are_named(void)
{
    REQUIRE(open_world());
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        if (!CHECK_STR(faults_of(wrong[i].body), wrong[i].faults))
            printf("    of %s\n", wrong[i].body);
    close_world();
}

/* The faults of a good event whose field has a text of n bytes. */
static struct str with_length(const char *field, size_t n)
{
    struct buf body = {0};
    buf_printf(&body, "{" COMPLETED "\"RevenueAmount\":1%s,\"%s\":\"",
               strcmp(field, "EventId") == 0 ? "" : ",\"EventId\":\"e\"", field);
    for (size_t i = 0; i < n; i++)
        buf_add_char(&body, 'x');
    buf_add_c(&body, "\"}");
    struct str faults = faults_of(buf_c(&body));
    buf_free(&body);
    return faults;
}

static void lengths_are_bounded(void)
{
    REQUIRE(open_world());
    CHECK_STR(with_length("EventId", 128), "");
    CHECK_STR(faults_of("{\"EventId\":\"atest_1\"," COMPLETED "\"RevenueAmount\":1}"), "");
    CHECK_STR(with_length("EventId", 129), "EventId invalid");
    CHECK(items.rejected[0].event_id.p == NULL);
    CHECK_STR(with_length("SessionId", 1024), "");
    CHECK_STR(with_length("SessionId", 1025), "SessionId out_of_range");
    CHECK_STR(with_length("Mid", 1024), "");
    CHECK_STR(with_length("Mid", 1025), "Mid out_of_range");
    /* A name nobody would want to read back is cut. */
    struct buf body = {0};
    buf_add_c(&body, "{\"");
    for (int i = 0; i < 5000; i++)
        buf_add_c(&body, "\xc3\xbc");
    buf_add_c(&body, "\":1}");
    CHECK(take(buf_str(&body), INTAKE_JSON) == INTAKE_READ && items.rejected_count == 1);
    CHECK_EQ_UINT(items.rejected[0].faults.first->field.n, LIMIT_TEXT_BYTES);
    buf_free(&body);
    close_world();
}

/* Why an event of this time is refused; "" where it is not. */
static struct str time_refusal(const char *timestamp, bool imported)
{
    struct buf body = {0};
    buf_printf(&body, "{\"EventId\":\"e\"," COMPLETED "\"RevenueAmount\":1,\"Timestamp\":\"%s\"}",
               timestamp);
    struct intake_request request = {buf_str(&body), INTAKE_JSON, f.now_ms, 0, imported, STR_NONE};
    ASSERT(intake_read(intake, &request, &f.arena, &items, &why) == INTAKE_READ);
    ASSERT(items.count == 1 && items.items[0].deliver == !imported);
    buf_free(&body);
    const struct problem *first = items.items[0].refused ? items.refusals[0].first : NULL;
    CHECK(!first ||
          (str_is(first->field, "Timestamp") && strcmp(first->code, "out_of_range") == 0));
    return first ? first->detail : STR("");
}

static void the_time_window_is_left_to_the_store(void)
{
    REQUIRE(open_world());
    static const char both[] = "must be at most 90 days in the past and 5 minutes in the future";
    static const char ahead[] = "must be at most 5 minutes in the future";
    static const struct {
        const char *at, *refused, *refused_imported;
    } cases[] = {
        {"2025-11-21T12:05:00Z", "", ""},      {"2025-11-21T12:05:00.001Z", both, ahead},
        {"2025-08-23T12:00:00.000Z", "", ""},  {"2025-08-23T11:59:59.999Z", both, ""},
        {"1999-01-01T00:00:00Z", both, ""},    {"2025-08-23T13:59:59.999+02:00", both, ""},
        {"9999-12-31T23:59:59Z", both, ahead},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_STR(time_refusal(cases[i].at, false), cases[i].refused);
        CHECK_STR(time_refusal(cases[i].at, true), cases[i].refused_imported);
    }
    close_world();
}

/* Duplicates are recognised before whatever may have changed since the first time. */
static void what_may_change_is_left_to_the_store(void)
{
    static const struct {
        const char *body, *faults;
    } refused[] = {
        {"{\"EventId\":\"e\",\"Type\":\"survey_started\",\"ClientId\":\"c9\","
         "\"PanelistId\":\"u\"}",
         "ClientId disabled"},
        {"{\"EventId\":\"e\",\"Type\":\"survey_started\",\"ClientId\":\"d1\","
         "\"PanelistId\":\"u\",\"Timestamp\":\"2001-01-01T00:00:00Z\"}",
         "ClientId disabled, Timestamp out_of_range"},
        {"{\"EventId\":\"e\",\"Type\":\"survey_completed\",\"ClientId\":\"n1\","
         "\"PanelistId\":\"u\",\"RevenueAmount\":1000.01}",
         "Reward out_of_range"},
        {"{\"EventId\":\"e\",\"Type\":\"ad_hoc\",\"ClientId\":\"c1\",\"PanelistId\":\"u\","
         "\"Reward\":-1,\"RevenueAmount\":-2,\"Reason\":\"r\"}",
         "RevenueAmount out_of_range, Reward out_of_range"},
    };
    REQUIRE(open_world());
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        CHECK_STR(faults_of(refused[i].body), refused[i].faults);
        REQUIRE(items.count == 1 && items.rejected_count == 0);
        const struct candidate *c = &items.items[0];
        CHECK(c->refused && c->terms && c->client_no);
        CHECK(key128_eq(c->key, event_key(&secret, c->terms->account_no, STR("e"))));
    }
    /* What the item itself says is judged first, and told together with the rest. */
    CHECK_STR(faults_of("{\"EventId\":\"e\",\"Type\":\"survey_started\",\"ClientId\":\"c9\","
                        "\"PanelistId\":\"\"}"),
              "PanelistId out_of_range, ClientId disabled");
    CHECK(items.count == 0 && items.rejected_count == 1);
    close_world();
}

static void an_account_sees_only_its_clients(void)
{
    REQUIRE(open_world());
    struct intake_request request = {
        .body = STR("{\"EventId\":\"e\"," COMPLETED "\"RevenueAmount\":1}"),
        .format = INTAKE_JSON,
        .now_ms = f.now_ms,
        .account_no = 2};
    REQUIRE(intake_read(intake, &request, &f.arena, &items, &why) == INTAKE_READ);
    REQUIRE(items.rejected_count == 1);
    CHECK_CSTR(items.rejected[0].faults.first->code, "unknown_client");
    request.account_no = 1;
    REQUIRE(intake_read(intake, &request, &f.arena, &items, &why) == INTAKE_READ);
    CHECK_EQ_UINT(items.count, 1);
    close_world();
}

static bool same_content(const char *a, const char *b)
{
    uint64_t of_a = good(a)->content;
    return of_a == good(b)->content;
}

#define SAME(members) "{\"EventId\":\"e\"," COMPLETED "\"RevenueAmount\":1.1" members "}"

/* An integer is kept as its digits; a string of the same digits is other content. */
static void a_goal_is_a_string_or_an_integer(void)
{
    REQUIRE(open_world());
#define GOAL(value)                                                                                \
    "{\"EventId\":\"e\",\"Type\":\"offer_completed\"," OFFER                                       \
    "\"RevenueAmount\":1,\"OfferGoalId\":" value "}"
    CHECK_STR(good(GOAL("12345678901234567890123"))->offer_goal_id, "12345678901234567890123");
    CHECK_STR(good(GOAL("\"17\""))->offer_goal_id, "17");
    CHECK(same_content(GOAL("17"), GOAL(" 17 ")));
    CHECK(!same_content(GOAL("17"), GOAL("\"17\"")));
    close_world();
}

static void content_is_what_was_meant(void)
{
    REQUIRE(open_world());
    CHECK(same_content(SAME(""), "{ \"RevenueAmount\" : \"1.10\", \"PanelistId\":\"\\u0075\", "
                                 "\"ClientId\":\"c1\",\"Type\":\"survey_completed\","
                                 "\"EventId\":\"e\" }"));
    CHECK(same_content(SAME(",\"Reward\":5e-06"), SAME(",\"Reward\":0.000005")));
    CHECK(same_content(SAME(",\"Timestamp\":\"2025-11-21T12:00:00Z\""),
                       SAME(",\"Timestamp\":\"2025-11-21T13:00:00.0001+01:00\"")));
    CHECK(!same_content(SAME(",\"Timestamp\":\"2025-11-21T12:00:00Z\""),
                        SAME(",\"Timestamp\":\"2025-11-21T12:00:00.001Z\"")));
    CHECK(!same_content(SAME(""), SAME(",\"Reward\":110")));
    CHECK(!same_content(SAME(""), SAME(",\"IsTest\":false")));
    CHECK(!same_content(SAME(""), SAME(",\"SessionId\":\"\"")));
    CHECK(!same_content(SAME(""), SAME(",\"SessionId\":null")));
    CHECK(!same_content(SAME(",\"SessionId\":\"a\""), SAME(",\"Mid\":\"a\"")));
    CHECK(!same_content(SAME(",\"SessionId\":\"a\",\"Mid\":\"b\""),
                        SAME(",\"SessionId\":\"b\",\"Mid\":\"a\"")));
    /* An absent Timestamp is not the time of arrival. */
    CHECK(!same_content(SAME(""), SAME(",\"Timestamp\":\"2025-11-21T12:00:00Z\"")));
    f.now_ms += 1000;
    uint64_t later = good(SAME(""))->content;
    f.now_ms -= 1000;
    CHECK_EQ_UINT(later, good(SAME(""))->content);
    /* The id alone decides the key, within an account. */
    struct key128 key = good(SAME(""))->key;
    CHECK(key128_eq(key, good(SAME(",\"Reward\":1"))->key));
    CHECK(!key128_eq(key, good("{\"EventId\":\"e\",\"Type\":\"survey_started\","
                               "\"ClientId\":\"n1\",\"PanelistId\":\"u\"}")
                              ->key));
    CHECK(key128_eq(key, event_key(&secret, 1, STR("e"))));
    close_world();
}

static void bodies_that_cannot_be_read(void)
{
    static const char *const unreadable[] = {"",      "{",    "[{},]", "7",
                                             "\"x\"", "null", "{}{}",  "{}\n{}"};
    REQUIRE(open_world());
    for (size_t i = 0; i < ARRAY_LEN(unreadable); i++) {
        CHECK_EQ_INT(take(str_of(unreadable[i]), INTAKE_JSON), INTAKE_UNREADABLE);
        CHECK(why.n > 0);
    }
    CHECK_EQ_INT(take(STR("[]"), INTAKE_JSON), INTAKE_READ);
    CHECK_EQ_UINT(items.count + items.rejected_count, 0);
    CHECK_EQ_INT(take(STR("\n \r\n\t\n"), INTAKE_NDJSON), INTAKE_READ);
    CHECK_EQ_UINT(items.count + items.rejected_count, 0);
    close_world();
}

static void too_many_events(void)
{
    struct buf array = {0}, lines = {0};
    REQUIRE(open_world());
    buf_add_char(&array, '[');
    for (int i = 0; i < LIMIT_EVENTS_PER_REQUEST; i++) {
        buf_add_c(&array, i ? ",1" : "1");
        buf_add_c(&lines, "1\n\n");
    }
    buf_add_c(&array, "]");
    CHECK_EQ_INT(take(buf_str(&array), INTAKE_JSON), INTAKE_READ);
    CHECK_EQ_UINT(items.rejected_count, LIMIT_EVENTS_PER_REQUEST);
    CHECK_EQ_INT(take(buf_str(&lines), INTAKE_NDJSON), INTAKE_READ);
    CHECK_EQ_UINT(items.rejected_count, LIMIT_EVENTS_PER_REQUEST);
    array.n--;
    buf_add_c(&array, ",1]");
    buf_add_c(&lines, "{");
    CHECK_EQ_INT(take(buf_str(&array), INTAKE_JSON), INTAKE_TOO_MANY);
    CHECK_EQ_INT(take(buf_str(&lines), INTAKE_NDJSON), INTAKE_TOO_MANY);
    buf_free(&array);
    buf_free(&lines);
    close_world();
}

static void lines_are_judged_alone(void)
{
    REQUIRE(open_world());
    static const char body[] = "{\"EventId\":\"a\"," COMPLETED "\"RevenueAmount\":1}\r\n"
                               "\r\n"
                               "{\"EventId\":\"b\",\n"
                               "[]\n"
                               "  {\"EventId\":\"\\ud800\"}\n"
                               "\"\xff\"\n"
                               "{\"EventId\":\"c\"," COMPLETED "\"RevenueAmount\":1}";
    REQUIRE(take(str_of(body), INTAKE_NDJSON) == INTAKE_READ);
    REQUIRE(items.count == 2 && items.rejected_count == 4);
    CHECK_EQ_UINT(items.indexes[0], 0);
    CHECK_EQ_UINT(items.indexes[1], 5);
    for (uint32_t i = 0; i < 4; i++)
        CHECK_EQ_UINT(items.rejected[i].index, i + 1);
    CHECK_STR(items.items[1].event_id, "c");
    close_world();
}

static void media_types(void)
{
    CHECK_EQ_INT(intake_format_of(STR_NONE), INTAKE_JSON);
    CHECK_EQ_INT(intake_format_of(STR("application/json")), INTAKE_JSON);
    CHECK_EQ_INT(intake_format_of(STR("Application/JSON ; charset=utf-8")), INTAKE_JSON);
    CHECK_EQ_INT(intake_format_of(STR("application/x-ndjson")), INTAKE_NDJSON);
    CHECK_EQ_INT(intake_format_of(STR("text/plain")), INTAKE_UNSUPPORTED);
    CHECK_EQ_INT(intake_format_of(STR("")), INTAKE_UNSUPPORTED);
    CHECK_EQ_INT(intake_format_of(STR("application/jsonx")), INTAKE_UNSUPPORTED);
}

static void answers(void)
{
    REQUIRE(open_world());
    static const char body[] = "[{\"EventId\":\"bad\"},"
                               "{\"EventId\":\"a\"," COMPLETED "\"RevenueAmount\":1},"
                               "{\"EventId\":\"b\"," COMPLETED "\"RevenueAmount\":1},"
                               "7,"
                               "{\"EventId\":\"c\"," COMPLETED "\"RevenueAmount\":1},"
                               "{\"EventId\":\"d\"," COMPLETED
                               "\"RevenueAmount\":1,\"Timestamp\":\"2001-01-01T00:00:00Z\"},"
                               "{\"EventId\":\"f\"," COMPLETED "\"RevenueAmount\":1},"
                               "{\"EventId\":\"g\"," COMPLETED "\"RevenueAmount\":1},"
                               "{\"EventId\":\"h\"," COMPLETED "\"RevenueAmount\":1}]";
    REQUIRE(take(str_of(body), INTAKE_JSON) == INTAKE_READ);
    REQUIRE(items.count == 7 && items.rejected_count == 2);
    const struct verdict verdicts[] = {{.kind = VERDICT_ACCEPTED},
                                       {.kind = VERDICT_DUPLICATE},
                                       {.kind = VERDICT_CONFLICT},
                                       {.kind = VERDICT_REFUSED},
                                       {.kind = VERDICT_ORIGINAL_NOT_FOUND},
                                       {.kind = VERDICT_ALREADY_REVERSED},
                                       {.kind = VERDICT_MISMATCH, .field = "OfferId"}};
    struct buf answer = {0};
    struct intake_counts n = intake_answer(&answer, &items, verdicts);
    CHECK_EQ_UINT(n.accepted, 1);
    CHECK_EQ_UINT(n.duplicates, 1);
    CHECK_EQ_UINT(n.rejected, 7);
    struct json *v = NULL;
    REQUIRE(json_parse(&f.arena, buf_str(&answer), &v, &why));
    CHECK_STR(json_member(v, "Accepted")->text, "1");
    CHECK_STR(json_member(v, "Duplicates")->text, "1");
    static const struct {
        const char *index, *event_id, *field, *code;
    } want[] = {
        {"0", "bad", "Type", "required"},
        {"3", NULL, "", "invalid"},
        {"4", "c", "EventId", "conflict"},
        {"5", "d", "Timestamp", "out_of_range"},
        {"6", "f", "OriginalRewardId", "original_not_found"},
        {"7", "g", "OriginalRewardId", "already_reversed"},
        {"8", "h", "OfferId", "invalid"},
    };
    const struct json *r = json_member(v, "Rejected")->first;
    for (size_t i = 0; i < ARRAY_LEN(want); i++, r = r->next) {
        REQUIRE(r);
        CHECK_STR(json_member(r, "Index")->text, want[i].index);
        if (want[i].event_id)
            CHECK_STR(json_member(r, "EventId")->text, want[i].event_id);
        else
            CHECK_EQ_INT(json_member(r, "EventId")->type, JSON_NULL);
        const struct json *e = json_member(r, "Errors")->first;
        CHECK_STR(json_member(e, "Field")->text, want[i].field);
        CHECK_STR(json_member(e, "Code")->text, want[i].code);
        CHECK(json_member(e, "Detail")->text.n > 10);
    }
    CHECK(r == NULL);
    buf_free(&answer);
    REQUIRE(take(STR("[]"), INTAKE_JSON) == INTAKE_READ);
    intake_answer(&answer, &items, NULL);
    CHECK_STR(answer, "{\"Accepted\":0,\"Duplicates\":0,\"Rejected\":[]}");
    buf_free(&answer);
    close_world();
}

int main(void)
{
    RUN(reads_all_fields);
    RUN(reads_offers_and_reversals);
    RUN(escaped_texts_stay);
    RUN(faults_are_named);
    RUN(lengths_are_bounded);
    RUN(the_time_window_is_left_to_the_store);
    RUN(what_may_change_is_left_to_the_store);
    RUN(an_account_sees_only_its_clients);
    RUN(a_goal_is_a_string_or_an_integer);
    RUN(content_is_what_was_meant);
    RUN(bodies_that_cannot_be_read);
    RUN(too_many_events);
    RUN(lines_are_judged_alone);
    RUN(media_types);
    RUN(answers);
    return check_done("intake");
}
