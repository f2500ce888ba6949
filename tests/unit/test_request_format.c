/* The contract's first test vector as JSON, form and query. */
#include "domain/request_format.h"

#include "check.h"

#define SECRET "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"
#define BODY                                                                                       \
    "{\"Sig\":\"68814bd5ca811bc95364ba60868977a8\","                                               \
    "\"PanelistId\":\"user-\xc3\xbc/1\",\"RewardType\":\"survey_completed\","                      \
    "\"RewardId\":\"r-1\",\"Reward\":72.00,\"SessionId\":\"s \\\"1\\\"\","                         \
    "\"RevenueAmount\":0.35,\"IsTest\":false}"
#define FIELDS                                                                                     \
    "Sig=68814bd5ca811bc95364ba60868977a8&PanelistId=user-%C3%BC%2F1&"                             \
    "RewardType=survey_completed&RewardId=r-1&Reward=72.00&SessionId=s%20%221%22&"                 \
    "RevenueAmount=0.35&IsTest=false"

static const struct request_facts facts = {
    .body = {BODY, sizeof BODY - 1},
    .occurred_ms = 1763640000000,
    .secret = {SECRET, sizeof SECRET - 1},
};

static void target_is(enum request_format format, const char *target, const char *wanted)
{
    struct buf said = {0};
    request_print_target(&said, str_of(target), format, &facts);
    CHECK_CSTR(buf_c(&said), wanted);
    buf_free(&said);
}

static void body_is(enum request_format format, const char *wanted)
{
    struct buf said = {0};
    request_print_body(&said, format, facts.body);
    CHECK_CSTR(buf_c(&said), wanted);
    buf_free(&said);
}

static void formats_have_names(void)
{
    for (int i = 0; i <= REQUEST_FORMAT_LAST; i++) {
        enum request_format found = REQUEST_FORMAT_LAST;
        const char *name = request_format_name((enum request_format)i);
        CHECK(request_format_parse(str_of(name), &found) && (int)found == i);
    }
    enum request_format none = REQUEST_JSON;
    CHECK(!request_format_parse(STR("GET"), &none));
    CHECK(!request_format_parse(STR(""), &none));
    CHECK_CSTR(request_format_method(REQUEST_GET), "GET");
    CHECK_CSTR(request_format_method(REQUEST_FORM), "POST");
}

static void a_body_is_json_or_a_form_or_none(void)
{
    body_is(REQUEST_JSON, BODY);
    body_is(REQUEST_FORM, FIELDS);
    body_is(REQUEST_GET, "");
}

static void a_post_leaves_its_url_alone(void)
{
    target_is(REQUEST_JSON, "/cb?a=%20", "/cb?a=%20");
    target_is(REQUEST_FORM, "/cb", "/cb");
    target_is(REQUEST_FORM, "/cb?u={PanelistId}", "/cb?u=user-%C3%BC%2F1");
}

static void a_get_without_macros_has_all_fields(void)
{
    const char *own = "28dfe30c4cb734188e2e0468c86c0bf836a4b7688544c0991731fe0589a72f55",
               *with_key = "1340576aebd24ab389b261b1465d7f8e7631978811f97bd072e72725cb94cddf";
    struct buf wanted = {0};
    buf_printf(&wanted, "/cb?%s&QuerySignature=%s", FIELDS, own);
    target_is(REQUEST_GET, "/cb", buf_c(&wanted));
    target_is(REQUEST_GET, "/cb?", buf_c(&wanted));
    buf_clear(&wanted);
    buf_printf(&wanted, "/cb?k=1&%s&QuerySignature=%s", FIELDS, with_key);
    target_is(REQUEST_GET, "/cb?k=1", buf_c(&wanted));
    target_is(REQUEST_GET, "/cb?k=1&", buf_c(&wanted));
    buf_free(&wanted);
}

static void macros_have_what_the_body_has_and_more(void)
{
    target_is(REQUEST_GET,
              "/cb?m={RewardMicros}&t={Timestamp}&i={IsTest}&o={OfferId}&s={Sig}&v={RevenueAmount}",
              "/cb?m=72000000&t=2025-11-20T12%3A00%3A00.000Z&i=false&o="
              "&s=68814bd5ca811bc95364ba60868977a8&v=0.35");
    target_is(REQUEST_GET,
              "/cb?uid={PanelistId}&amount={Reward}&tx={RewardId}&sig={QuerySignature}",
              "/cb?uid=user-%C3%BC%2F1&amount=72.00&tx=r-1&sig="
              "ead843eb1907a6618c3c82a8a607507a8ae1fa6b12f8d27fc5ebd931a04a70d9");
}

static void without_the_secret_signatures_are_hidden(void)
{
    struct request_facts hidden = facts;
    struct buf said = {0};
    hidden.secret = STR_NONE;
    request_print_url(&said, STR("https://***:***@h?a=1&s={QuerySignature}"), REQUEST_GET, &hidden);
    CHECK_CSTR(buf_c(&said), "https://***:***@h/?a=1&s="
                             "****************************************************************");
    buf_free(&said);
}

static void a_test_is_told_from_a_real_callback(void)
{
    static const struct {
        const char *url;
        bool json, form, get;
    } rows[] = {
        {"https://h/", true, true, true}, /* a GET has all fields */
        {"https://h/?uid={PanelistId}", true, true, false},
        {"https://h/{PanelistId}?amount={Reward}&sig={QuerySignature}", false, false, false},
        {"https://h/?uid={PanelistId}&tx={RewardId}&sig={QuerySignature}", true, true, true},
        {"https://h/?uid={PanelistId}&t={IsTest}&sig={QuerySignature}", true, true, true},
        {"https://h/{IsTest}?uid={PanelistId}&sig={QuerySignature}", false, false, false},
        {"https://h/{RewardId}?uid={PanelistId}&sig={QuerySignature}", false, false, false},
        {"https://h/{RewardId}?uid={PanelistId}", true, true, true}, /* the headers sign the path */
        {"https://h/?o={OriginalRewardId}&x=RewardId", true, true, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str url = str_of(rows[i].url);
        CHECK(request_shows_test(REQUEST_JSON, url) == rows[i].json);
        CHECK(request_shows_test(REQUEST_FORM, url) == rows[i].form);
        CHECK(request_shows_test(REQUEST_GET, url) == rows[i].get);
    }
}

int main(void)
{
    RUN(formats_have_names);
    RUN(a_body_is_json_or_a_form_or_none);
    RUN(a_post_leaves_its_url_alone);
    RUN(a_get_without_macros_has_all_fields);
    RUN(macros_have_what_the_body_has_and_more);
    RUN(a_test_is_told_from_a_real_callback);
    RUN(without_the_secret_signatures_are_hidden);
    return check_done("request_format");
}
