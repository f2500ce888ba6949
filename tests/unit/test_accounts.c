/*
 * Creating and changing partners, apps, clients and keys: every rule of a field, what documents
 * keep, what answers show and what they never show.
 */
#include "accounts_fixture.h"

static struct fixture f;

static void defaults_of_an_app(void)
{
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\"}"));
    REQUIRE(fixture_app(&f, "p1", "{\"AppId\":\"a1\",\"CurrencyValue\":100.50}"));
    CHECK_STR(
        fixture_app_json(&f, "a1", false),
        "{\"AppId\":\"a1\",\"Name\":\"a1\",\"Enabled\":true,\"CurrencyValue\":100.50,"
        "\"RewardDecimals\":2,\"DisqualificationReward\":0.00,\"DisqualificationCap\":6,"
        "\"SuccessCallbackUrl\":null,\"FailureCallbackUrl\":null,\"OfferCallbackUrl\":null,"
        "\"TestCallbackUrl\":null,\"TimeoutSeconds\":10,\"MaxConcurrency\":32,\"RatePerSecond\":0,"
        "\"LegacyFields\":false,\"ExtendedFields\":false,\"NegativeAdHoc\":false,"
        "\"FinalStatuses\":[],\"SuccessAnswer\":null,\"RewardTypes\":null,\"RequestFormat\":"
        "\"json\",\"TrimDecimals\":false,\"NumericOfferGoalId\":false,"
        "\"WithholdTests\":false}");
    struct app *a = directory_app(f.directory, STR("a1"));
    CHECK_EQ_UINT(a->app_no, 1);
    CHECK_EQ_UINT(a->terms.account_no, 1);
    CHECK_EQ_UINT(a->terms.app_no, 1);
    CHECK_EQ_INT(a->terms.currency_micros, 100500000);
    CHECK(str_has_prefix(a->secrets.newest, "whsec_"));
    app_unref(a);
    fixture_close(&f);
}

static void every_field_of_an_app(void)
{
    static const char body[] =
        "{\"AppId\":\"a1\",\"Name\":\"\\u00fc\",\"Enabled\":false,\"CurrencyValue\":\"5e-06\","
        "\"RewardDecimals\":0,\"DisqualificationReward\":\"1.5\",\"DisqualificationCap\":1000,"
        "\"SuccessCallbackUrl\":\"https://u:p@example.com/a?b=c\","
        "\"FailureCallbackUrl\":\"http://127.0.0.1:8080/f\",\"OfferCallbackUrl\":null,"
        "\"TestCallbackUrl\":\"http://127.0.0.1:8080/"
        "t\",\"TimeoutSeconds\":3,\"MaxConcurrency\":256,\"RatePerSecond\":10000,"
        "\"LegacyFields\":true,\"ExtendedFields\":true,\"NegativeAdHoc\":true,\"FinalStatuses\":["
        "422,404],\"SuccessAnswer\":{\"Value\":\"ok\",\"Field\":\"/"
        "status\"},\"RewardTypes\":[\"offer_completed\",\"survey_completed\"],"
        "\"RequestFormat\":\"get\",\"TrimDecimals\":true,\"NumericOfferGoalId\":true,"
        "\"WithholdTests\":true,"
        "\"CallbackSecret\":\"partner's-own\"}";
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\"}"));
    REQUIRE(fixture_app(&f, "p1", body));
    CHECK_STR(fixture_app_json(&f, "a1", true),
              "{\"AppId\":\"a1\",\"Name\":\"\xc3\xbc\",\"Enabled\":false,\"CurrencyValue\":5e-06,"
              "\"RewardDecimals\":0,\"DisqualificationReward\":1.5,\"DisqualificationCap\":1000,"
              "\"SuccessCallbackUrl\":\"https://***:***@example.com/a?b=c\","
              "\"FailureCallbackUrl\":\"http://127.0.0.1:8080/f\",\"OfferCallbackUrl\":null,"
              "\"TestCallbackUrl\":\"http://127.0.0.1:8080/"
              "t\",\"TimeoutSeconds\":3,\"MaxConcurrency\":256,\"RatePerSecond\":10000,"
              "\"LegacyFields\":true,\"ExtendedFields\":true,\"NegativeAdHoc\":true,"
              "\"FinalStatuses\":[404,422],"
              "\"SuccessAnswer\":{\"Field\":\"/status\",\"Value\":\"ok\"},"
              "\"RewardTypes\":[\"survey_completed\",\"offer_completed\"],"
              "\"RequestFormat\":\"get\",\"TrimDecimals\":true,\"NumericOfferGoalId\":true,"
              "\"WithholdTests\":true,"
              "\"CallbackSecret\":\"partner's-own\"}");
    struct app *a = directory_app(f.directory, STR("a1"));
    CHECK(a->terms.has_url[LANE_SUCCESS] && a->terms.has_url[LANE_FAILURE]);
    CHECK(!a->terms.has_url[LANE_OFFER] && a->terms.has_url[LANE_TEST]);
    CHECK_STR(a->parsed[LANE_SUCCESS].host, "example.com");
    CHECK_STR(a->parsed[LANE_SUCCESS].userinfo, "u:p");
    CHECK_EQ_INT(a->timeout_ms, 3000);
    app_unref(a);
    fixture_close(&f);
}

static void faults_of_an_app(void)
{
    static const struct {
        const char *body, *faults;
    } cases[] = {
        {"[]", " invalid"},
        {"{}", "CurrencyValue required"},
        {"{\"CurrencyValue\":0}", "CurrencyValue out_of_range"},
        {"{\"CurrencyValue\":-1}", "CurrencyValue out_of_range"},
        {"{\"CurrencyValue\":1000000.000001}", "CurrencyValue out_of_range"},
        {"{\"CurrencyValue\":1e300}", "CurrencyValue out_of_range"},
        {"{\"CurrencyValue\":0.0000001}", "CurrencyValue invalid"},
        {"{\"CurrencyValue\":\"abc\"}", "CurrencyValue invalid"},
        {"{\"CurrencyValue\":null}", "CurrencyValue invalid"},
        {"{\"CurrencyValue\":1,\"RewardDecimals\":7}", "RewardDecimals out_of_range"},
        {"{\"CurrencyValue\":1,\"RewardDecimals\":2.0}", "RewardDecimals invalid"},
        {"{\"CurrencyValue\":1,\"RewardDecimals\":\"2\"}", "RewardDecimals invalid"},
        {"{\"CurrencyValue\":1,\"TimeoutSeconds\":2}", "TimeoutSeconds out_of_range"},
        {"{\"CurrencyValue\":1,\"TimeoutSeconds\":31}", "TimeoutSeconds out_of_range"},
        {"{\"CurrencyValue\":1,\"TimeoutSeconds\":null}", "TimeoutSeconds invalid"},
        {"{\"CurrencyValue\":1,\"MaxConcurrency\":0}", "MaxConcurrency out_of_range"},
        {"{\"CurrencyValue\":1,\"MaxConcurrency\":257}", "MaxConcurrency out_of_range"},
        {"{\"CurrencyValue\":1,\"RatePerSecond\":99999999999999999999999999}",
         "RatePerSecond out_of_range"},
        {"{\"CurrencyValue\":1,\"RatePerSecond\":-1}", "RatePerSecond out_of_range"},
        {"{\"CurrencyValue\":1,\"DisqualificationCap\":1001}", "DisqualificationCap out_of_range"},
        {"{\"CurrencyValue\":1,\"DisqualificationReward\":-0.01}",
         "DisqualificationReward out_of_range"},
        {"{\"CurrencyValue\":1,\"Enabled\":\"true\"}", "Enabled invalid"},
        {"{\"CurrencyValue\":1,\"Name\":\"\"}", "Name out_of_range"},
        {"{\"CurrencyValue\":1,\"Name\":7}", "Name invalid"},
        {"{\"CurrencyValue\":1,\"AppId\":\"\"}", "AppId invalid"},
        {"{\"CurrencyValue\":1,\"AppId\":\"a b\"}", "AppId invalid"},
        {"{\"CurrencyValue\":1,\"AppId\":\"a.b\"}", "AppId invalid"},
        {"{\"CurrencyValue\":1,\"AppId\":7}", "AppId invalid"},
        {"{\"CurrencyValue\":1,\"CallbackSecret\":\"short\"}", "CallbackSecret out_of_range"},
        {"{\"CurrencyValue\":1,\"CallbackSecret\":\"with space\\n\"}", "CallbackSecret invalid"},
        {"{\"CurrencyValue\":1,\"SuccessCallbackUrl\":\"ftp://example.com/\"}",
         "SuccessCallbackUrl invalid"},
        {"{\"CurrencyValue\":1,\"SuccessCallbackUrl\":\"http://10.0.0.1/\"}",
         "SuccessCallbackUrl invalid"},
        {"{\"CurrencyValue\":1,\"SuccessCallbackUrl\":\"http://[::1]/\"}",
         "SuccessCallbackUrl invalid"},
        {"{\"CurrencyValue\":1,\"SuccessCallbackUrl\":\"http://127.1/\"}",
         "SuccessCallbackUrl invalid"},
        {"{\"CurrencyValue\":1,\"SuccessCallbackUrl\":7}", "SuccessCallbackUrl invalid"},
        {"{\"CurrencyValue\":1,\"CurrencyValue\":1}", "CurrencyValue invalid"},
        {"{\"CurrencyValue\":1,\"currencyValue\":1}", "currencyValue unknown_field"},
        {"{\"AppId\":\"x y\",\"Nope\":1,\"RewardDecimals\":9,\"Enabled\":0}",
         "Nope unknown_field, AppId invalid, CurrencyValue required, Enabled invalid, "
         "RewardDecimals out_of_range"},
    };
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\"}"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_EQ_INT(change_create_app(f.accounts, STR("p1"), false,
                                       fixture_body(&f, cases[i].body), &f.faults, &f.change),
                     CHANGE_INVALID);
        CHECK_STR(fixture_faults(&f), cases[i].faults);
    }
    CHECK_EQ_UINT(directory_next_no(f.directory, ACCOUNT_APP), 1);
    fixture_close(&f);
}

static void ids_are_unique_or_made(void)
{
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"same\"}"));
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"other\"}"));
    CHECK(!fixture_partner(&f, "{\"PartnerId\":\"same\"}"));
    CHECK_STR(fixture_faults(&f), "PartnerId conflict");
    REQUIRE(fixture_app(&f, "same", "{\"AppId\":\"same\",\"CurrencyValue\":1}"));
    CHECK_EQ_INT(change_create_app(f.accounts, STR("other"), false,
                                   fixture_body(&f, "{\"AppId\":\"same\",\"CurrencyValue\":1}"),
                                   &f.faults, &f.change),
                 CHANGE_CONFLICT);
    /* A taken id beside another fault is a bad request first. */
    CHECK_EQ_INT(change_create_app(f.accounts, STR("other"), false,
                                   fixture_body(&f, "{\"AppId\":\"same\"}"), &f.faults, &f.change),
                 CHANGE_INVALID);
    CHECK_EQ_INT(change_create_app(f.accounts, STR("nobody"), false, fixture_body(&f, "{}"),
                                   &f.faults, &f.change),
                 CHANGE_NOT_FOUND);
    REQUIRE(change_create_client(f.accounts, STR("same"), fixture_body(&f, "{}"), &f.faults,
                                 &f.change) == CHANGE_READY);
    CHECK(str_has_prefix(f.change.client->id, "c_"));
    CHECK_EQ_UINT(f.change.client->id.n, 18);
    CHECK_EQ_INT(f.change.client->integration, INTEGRATION_SDK);
    fixture_apply(&f);
    CHECK_EQ_UINT(directory_next_no(f.directory, ACCOUNT_CLIENT), 2);
    fixture_close(&f);
}

static void what_the_store_refused_never_was(void)
{
    fixture_open(&f);
    for (int i = 0; i < 2; i++) {
        REQUIRE(change_create_partner(f.accounts, fixture_body(&f, "{\"PartnerId\":\"p1\"}"),
                                      &f.faults, &f.change) == CHANGE_READY);
        CHECK(directory_partner(f.directory, STR("p1")) == NULL);
        CHECK_ABORTS(
            (void)change_create_partner(f.accounts, fixture_body(&f, "{}"), &f.faults, &f.change));
        change_free(f.accounts, &f.change);
    }
    CHECK_EQ_UINT(directory_next_no(f.directory, ACCOUNT_PARTNER), 1);
    fixture_close(&f);
}

static void patching(void)
{
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\"}"));
    REQUIRE(fixture_app(&f, "p1",
                        "{\"AppId\":\"a1\",\"CurrencyValue\":1,\"RatePerSecond\":5,"
                        "\"SuccessCallbackUrl\":\"https://u:p@example.com/\"}"));
    CHECK(fixture_patch_app(&f, "a1", "{}"));
    CHECK(fixture_patch_app(&f, "a1", "{\"RatePerSecond\":null,\"CurrencyValue\":2.0}"));
    struct app *a = directory_app(f.directory, STR("a1"));
    CHECK_EQ_INT(a->rate_per_second, 0);
    CHECK_STR(a->currency_text, "2.0");
    CHECK_STR(a->url[LANE_SUCCESS], "https://u:p@example.com/");
    CHECK_EQ_UINT(a->version, 3);
    app_unref(a);
    /* What was shown, sent back: the password stays. */
    CHECK(fixture_patch_app(&f, "a1", "{\"SuccessCallbackUrl\":\"https://***:***@example.com/\"}"));
    a = directory_app(f.directory, STR("a1"));
    CHECK_STR(a->url[LANE_SUCCESS], "https://u:p@example.com/");
    app_unref(a);
    /* The mask is no password: with another path or host nobody knows which one is meant. */
    CHECK(!fixture_patch_app(&f, "a1",
                             "{\"SuccessCallbackUrl\":\"https://***:***@example.com/b\","
                             "\"OfferCallbackUrl\":\"https://***:***@example.com/\"}"));
    CHECK_STR(fixture_faults(&f), "SuccessCallbackUrl invalid, OfferCallbackUrl invalid");
    CHECK(fixture_patch_app(&f, "a1", "{\"SuccessCallbackUrl\":null}"));
    a = directory_app(f.directory, STR("a1"));
    CHECK(a->url[LANE_SUCCESS].p == NULL && !a->terms.has_url[LANE_SUCCESS]);
    app_unref(a);
    CHECK(!fixture_patch_app(&f, "a1",
                             "{\"AppId\":\"a1\",\"CallbackSecret\":\"12345678\",\"X\":1,"
                             "\"Enabled\":null}"));
    CHECK_STR(fixture_faults(&f),
              "AppId invalid, CallbackSecret invalid, X unknown_field, Enabled invalid");
    CHECK_EQ_INT(change_patch_app(f.accounts, STR("a2"), STR_NONE, fixture_body(&f, "{}"),
                                  &f.faults, &f.change),
                 CHANGE_NOT_FOUND);
    fixture_close(&f);
}

static void partners_and_clients_are_patched(void)
{
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\",\"Name\":\"P\"}"));
    REQUIRE(fixture_app(&f, "p1", "{\"AppId\":\"a1\",\"CurrencyValue\":1}"));
    REQUIRE(fixture_client(&f, "a1", "{\"ClientId\":\"c1\",\"Integration\":\"iframe\"}"));
    REQUIRE(change_patch_client(f.accounts, STR("c1"), STR_NONE,
                                fixture_body(&f, "{\"Integration\":\"monetization_api\","
                                                 "\"Enabled\":false}"),
                                &f.faults, &f.change) == CHANGE_READY);
    fixture_apply(&f);
    struct client *c = directory_client(f.directory, STR("c1"));
    CHECK_EQ_INT(c->integration, INTEGRATION_MONETIZATION_API);
    CHECK(!c->enabled);
    CHECK_EQ_UINT(c->account_no, 1);
    client_unref(c);
    CHECK_EQ_INT(change_patch_client(f.accounts, STR("c1"), STR_NONE,
                                     fixture_body(&f, "{\"Integration\":\"web\",\"Name\":null,"
                                                      "\"ClientId\":\"c2\"}"),
                                     &f.faults, &f.change),
                 CHANGE_INVALID);
    CHECK_STR(fixture_faults(&f), "ClientId invalid, Name invalid, Integration invalid");
    REQUIRE(change_patch_partner(f.accounts, STR("p1"), false, STR_NONE,
                                 fixture_body(&f, "{\"OperationsUrl\":\"https://example.com/ops\","
                                                  "\"Enabled\":false}"),
                                 &f.faults, &f.change) == CHANGE_READY);
    struct buf shown = {0};
    struct json_writer w;
    json_write_to(&w, &shown);
    render_partner(&w, f.change.partner);
    CHECK_STR(shown, "{\"PartnerId\":\"p1\",\"Name\":\"P\",\"Enabled\":false,"
                     "\"OperationsUrl\":\"https://example.com/ops\"}");
    buf_free(&shown);
    fixture_apply(&f);
    fixture_close(&f);
}

static void versions_guard_changes(void)
{
    char etag[ETAG_MAX];
    etag_print(etag, 12);
    CHECK_CSTR(etag, "\"v12\"");
    CHECK(etag_matches(STR("\"v12\""), 12));
    CHECK(etag_matches(STR(" * "), 12));
    CHECK(etag_matches(STR("\"x\", \"v12\""), 12));
    CHECK(!etag_matches(STR("W/\"v12\""), 12));
    CHECK(!etag_matches(STR("v12"), 12));
    CHECK(!etag_matches(STR("\"v1\""), 12));
    CHECK(!etag_matches(STR(""), 12));
    CHECK(etag_matches(STR_NONE, 12)); /* there is no If-Match */
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\"}"));
    CHECK_EQ_INT(change_patch_partner(f.accounts, STR("p1"), false, STR("\"v2\""),
                                      fixture_body(&f, "{\"Name\":\"n\"}"), &f.faults, &f.change),
                 CHANGE_STALE);
    REQUIRE(change_patch_partner(f.accounts, STR("p1"), false, STR("\"v1\""),
                                 fixture_body(&f, "{\"Name\":\"n\"}"), &f.faults,
                                 &f.change) == CHANGE_READY);
    CHECK_EQ_UINT(f.change.partner->version, 2);
    fixture_apply(&f);
    fixture_close(&f);
}

static void pausing_an_app(void)
{
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\"}"));
    REQUIRE(fixture_app(&f, "p1", "{\"AppId\":\"a1\",\"CurrencyValue\":1,\"Enabled\":false}"));
    f.now_ms += 5000;
    CHECK(fixture_patch_app(&f, "a1", "{\"Enabled\":true}"));
    struct app *a = directory_app(f.directory, STR("a1"));
    CHECK_EQ_INT(a->enabled_since_ms, f.now_ms);
    app_unref(a);
    f.now_ms += 5000;
    CHECK(fixture_patch_app(&f, "a1", "{\"Enabled\":true}"));
    a = directory_app(f.directory, STR("a1"));
    CHECK_EQ_INT(a->enabled_since_ms, f.now_ms - 5000);
    app_unref(a);
    fixture_close(&f);
}

static void a_gone_url_disables_its_lane(void)
{
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\"}"));
    REQUIRE(fixture_app(&f, "p1",
                        "{\"AppId\":\"a1\",\"CurrencyValue\":1,"
                        "\"OfferCallbackUrl\":\"https://example.com/o\"}"));
    CHECK_EQ_INT(
        change_disable_lane(f.accounts, 1, LANE_OFFER, STR("https://example.com/old"), &f.change),
        CHANGE_STALE);
    REQUIRE(change_disable_lane(f.accounts, 1, LANE_OFFER, STR("https://example.com/o"),
                                &f.change) == CHANGE_READY);
    fixture_apply(&f);
    struct app *a = directory_app(f.directory, STR("a1"));
    CHECK(a->terms.lane_disabled[LANE_OFFER] && !a->terms.lane_disabled[LANE_SUCCESS]);
    app_unref(a);
    CHECK_EQ_INT(
        change_disable_lane(f.accounts, 1, LANE_OFFER, STR("https://example.com/o"), &f.change),
        CHANGE_STALE);
    CHECK_EQ_INT(change_disable_lane(f.accounts, 2, LANE_OFFER, STR_NONE, &f.change),
                 CHANGE_NOT_FOUND);
    CHECK(fixture_patch_app(&f, "a1", "{\"Name\":\"n\"}"));
    a = directory_app(f.directory, STR("a1"));
    CHECK(a->terms.lane_disabled[LANE_OFFER]);
    app_unref(a);
    CHECK(fixture_patch_app(&f, "a1", "{\"OfferCallbackUrl\":\"https://example.com/o\"}"));
    a = directory_app(f.directory, STR("a1"));
    CHECK(!a->terms.lane_disabled[LANE_OFFER]);
    CHECK(a->lane_enabled_ms[LANE_OFFER] > 0 && a->lane_enabled_ms[LANE_SUCCESS] == 0);
    app_unref(a);
    REQUIRE(change_disable_lane(f.accounts, 1, LANE_OFFER, STR("https://example.com/o"),
                                &f.change) == CHANGE_READY);
    fixture_apply(&f);
    REQUIRE(change_enable_lane(f.accounts, STR("a1"), LANE_OFFER, &f.change) == CHANGE_READY);
    fixture_apply(&f);
    a = directory_app(f.directory, STR("a1"));
    CHECK(!a->terms.lane_disabled[LANE_OFFER]);
    app_unref(a);
    CHECK_EQ_INT(change_enable_lane(f.accounts, STR("a2"), LANE_OFFER, &f.change),
                 CHANGE_NOT_FOUND);
    fixture_close(&f);
}

static enum change_result make_key(const char *body, uint32_t maker)
{
    struct key_maker of = {.scopes = maker, .person = STR("u_1")};
    return change_create_key(f.accounts, STR("p1"), &of, fixture_body(&f, body), &f.faults,
                             &f.change);
}

static void keys(void)
{
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\"}"));
    REQUIRE(make_key("{\"KeyId\":\"k1\",\"Name\":\"n\",\"Scopes\":[\"apps:read\","
                     "\"reports:read\"]}",
                     SCOPES_PARTNER) == CHANGE_READY);
    char text[KEY_TEXT_BYTES + 1];
    memcpy(text, f.change.key_text, sizeof text);
    CHECK_EQ_UINT(strlen(text), KEY_TEXT_BYTES);
    CHECK(memmem(f.change.document.p, f.change.document.n, text, KEY_TEXT_BYTES) == NULL);
    struct buf shown = {0};
    struct json_writer w;
    json_write_to(&w, &shown);
    render_key(&w, f.change.key, STR_NONE, f.change.key->person, true);
    CHECK_STR(shown, "{\"KeyId\":\"k1\",\"Name\":\"n\",\"Scopes\":[\"reports:read\","
                     "\"apps:read\"],\"CreatedBy\":\"u_1\",\"CreatorGone\":true}");
    buf_free(&shown);
    CHECK(directory_key_by_text(f.directory, str_of(text)) == NULL);
    fixture_apply(&f);
    struct api_key *k = directory_key_by_text(f.directory, str_of(text));
    REQUIRE(k);
    CHECK_STR(k->id, "k1");
    CHECK_EQ_UINT(k->account_no, 1);
    CHECK_EQ_UINT(k->scopes, SCOPE_APPS_READ | SCOPE_REPORTS_READ);
    api_key_unref(k);

    CHECK_EQ_INT(change_revoke_key(f.accounts, 1, STR("k1"), STR("\"v2\""), &f.change),
                 CHANGE_STALE);
    CHECK_EQ_INT(change_revoke_key(f.accounts, 2, STR("k1"), STR_NONE, &f.change),
                 CHANGE_NOT_FOUND);
    CHECK_EQ_INT(change_revoke_key(f.accounts, 1, STR("k2"), STR_NONE, &f.change),
                 CHANGE_NOT_FOUND);
    REQUIRE(change_revoke_key(f.accounts, 1, STR("k1"), STR("\"v1\""), &f.change) == CHANGE_READY);
    CHECK(f.change.remove && f.change.document.n == 0);
    fixture_apply(&f);
    CHECK(directory_key_by_text(f.directory, str_of(text)) == NULL);
    CHECK(directory_key(f.directory, STR("k1")) == NULL);
    fixture_close(&f);
}

static void keys_grant_no_more_than_their_maker_has(void)
{
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\"}"));
    CHECK_EQ_INT(make_key("{\"Scopes\":[\"apps:write\"]}", SCOPE_KEYS_WRITE | SCOPE_APPS_READ),
                 CHANGE_FORBIDDEN);
    CHECK_EQ_INT(make_key("{\"Scopes\":[\"events:write\"]}", SCOPES_PARTNER), CHANGE_FORBIDDEN);
    CHECK_EQ_INT(make_key("{\"Scopes\":[\"admin\"]}", SCOPES_ALL), CHANGE_INVALID);
    REQUIRE(make_key("{\"Scopes\":[\"events:write\"]}", SCOPES_ALL) == CHANGE_READY);
    fixture_apply(&f);
    static const char *const bad[] = {"{}",
                                      "{\"Scopes\":[]}",
                                      "{\"Scopes\":\"apps:read\"}",
                                      "{\"Scopes\":[\"apps\"]}",
                                      "{\"Scopes\":[null]}",
                                      "{\"Scopes\":[\"apps:read\"],\"Key\":\"x\"}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_EQ_INT(make_key(bad[i], SCOPES_ALL), CHANGE_INVALID);
    fixture_close(&f);
}

/* An id that is taken is said first: who repeats a creation learns that it is there. */
static void as_many_as_an_account_may_have(void)
{
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\"}"));
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p2\"}"));
    REQUIRE(fixture_app(&f, "p1", "{\"AppId\":\"a1\",\"CurrencyValue\":1}"));
    for (int i = 1; i < LIMIT_ACCOUNT_APPS; i++)
        REQUIRE(fixture_app(&f, "p1", "{\"CurrencyValue\":1}"));
    CHECK_EQ_INT(change_create_app(f.accounts, STR("p1"), false,
                                   fixture_body(&f, "{\"CurrencyValue\":1}"), &f.faults, &f.change),
                 CHANGE_TOO_MANY);
    CHECK_STR(fixture_faults(&f), "AppId too_many");
    CHECK(memmem(f.faults.first->detail.p, f.faults.first->detail.n, "5000 apps", 9) != NULL);
    CHECK(!fixture_app(&f, "p1", "{\"AppId\":\"a1\",\"CurrencyValue\":1}"));
    CHECK_STR(fixture_faults(&f), "AppId conflict");
    REQUIRE(fixture_app(&f, "p2", "{\"CurrencyValue\":1}"));

    for (int i = 0; i < LIMIT_ACCOUNT_CLIENTS; i++)
        REQUIRE(fixture_client(&f, "a1", "{}"));
    CHECK(!fixture_client(&f, "a1", "{}"));
    CHECK_STR(fixture_faults(&f), "ClientId too_many");
    fixture_close(&f);
}

/* Everything that was made, loaded into a second directory from its documents. */
static void documents_bring_everything_back(void)
{
    fixture_open(&f);
    struct buf kept[4] = {{0}};
    enum account_kind kinds[4];
    REQUIRE(change_create_partner(f.accounts, fixture_body(&f, "{\"PartnerId\":\"p1\"}"), &f.faults,
                                  &f.change) == CHANGE_READY);
    buf_add_str(&kept[0], buf_str(&f.change.document));
    kinds[0] = f.change.kind;
    fixture_apply(&f);
    REQUIRE(fixture_app(&f, "p1",
                        "{\"AppId\":\"a1\",\"CurrencyValue\":1.50,\"Name\":\"quote \\\"\","
                        "\"DisqualificationReward\":0.25,\"CallbackSecret\":\"first-one\","
                        "\"SuccessCallbackUrl\":\"https://example.com/\"}"));
    REQUIRE(fixture_rotate(&f, "{\"SigSwitch\":\"end\"}"));
    REQUIRE(change_disable_lane(f.accounts, 1, LANE_SUCCESS, STR("https://example.com/"),
                                &f.change) == CHANGE_READY);
    buf_add_str(&kept[1], buf_str(&f.change.document));
    kinds[1] = f.change.kind;
    CHECK(memmem(kept[1].p, kept[1].n, "first-one", 9) == NULL);
    fixture_apply(&f);
    REQUIRE(change_create_client(f.accounts, STR("a1"), fixture_body(&f, "{\"ClientId\":\"c1\"}"),
                                 &f.faults, &f.change) == CHANGE_READY);
    buf_add_str(&kept[2], buf_str(&f.change.document));
    kinds[2] = f.change.kind;
    fixture_apply(&f);
    REQUIRE(make_key("{\"KeyId\":\"k1\",\"Scopes\":[\"apps:read\"]}", SCOPES_ALL) == CHANGE_READY);
    buf_add_str(&kept[3], buf_str(&f.change.document));
    kinds[3] = f.change.kind;
    char text[KEY_TEXT_BYTES + 1];
    memcpy(text, f.change.key_text, sizeof text);
    fixture_apply(&f);
    struct str before = arena_str(&f.arena, fixture_app_json(&f, "a1", true));

    struct fixture g;
    struct str why = STR_NONE;
    fixture_open(&g);
    for (int i = 3; i >= 0; i--) /* in any order */
        CHECK(accounts_load(g.accounts, &g.arena, kinds[i], STR("x"), buf_str(&kept[i]), &why));
    CHECK(str_eq(fixture_app_json(&g, "a1", true), before));
    struct app *a = directory_app(g.directory, STR("a1"));
    CHECK_STR(secrets_sig(&a->secrets, g.now_ms), "first-one");
    CHECK(a->terms.lane_disabled[LANE_SUCCESS] && a->terms.has_url[LANE_SUCCESS]);
    CHECK_STR(a->parsed[LANE_SUCCESS].host, "example.com");
    CHECK_STR(a->partner_id, "p1");
    app_unref(a);
    struct api_key *k = directory_key_by_text(g.directory, str_of(text));
    CHECK(k && k->scopes == SCOPE_APPS_READ);
    api_key_unref(k);
    CHECK_EQ_UINT(directory_next_no(g.directory, ACCOUNT_CLIENT), 2);
    fixture_close(&g);
    for (int i = 0; i < 4; i++)
        buf_free(&kept[i]);
    fixture_close(&f);
}

static void bad_documents_are_named(void)
{
    struct str why = STR_NONE;
    fixture_open(&f);
    CHECK(!accounts_load(f.accounts, &f.arena, ACCOUNT_PARTNER, STR("p1"), STR("{"), &why));
    CHECK(str_has_prefix(why, "stored account entry p1: "));
    CHECK(!accounts_load(f.accounts, &f.arena, ACCOUNT_PARTNER, STR("p1"),
                         STR("{\"AccountNo\":1,\"Version\":1,\"PartnerId\":\"p1\",\"Name\":\"n\"}"),
                         &why));
    CHECK_STR(why, "stored account entry p1: the document of partner p1: Enabled is missing or "
                   "wrong");
    CHECK(!accounts_load(f.accounts, &f.arena, ACCOUNT_APP, STR("a1"), STR("[]"), &why));
    /* A number from a document edited by hand must not make a table of four thousand million. */
    CHECK(!accounts_load(f.accounts, &f.arena, ACCOUNT_PARTNER, STR("p1"),
                         STR("{\"AccountNo\":4294967295,\"Version\":1,\"PartnerId\":\"p1\","
                             "\"Name\":\"n\",\"Enabled\":true}"),
                         &why));

    /* Sealed under another master key. */
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\"}"));
    REQUIRE(change_create_app(f.accounts, STR("p1"), false,
                              fixture_body(&f, "{\"CurrencyValue\":1}"), &f.faults,
                              &f.change) == CHANGE_READY);
    struct accounts_options other = {
        .directory = f.directory, .env = &f.env, .vault = {.key = {9}}};
    struct accounts *accounts = accounts_new(&other);
    CHECK(!accounts_load(accounts, &f.arena, ACCOUNT_APP, STR("a1"), buf_str(&f.change.document),
                         &why));
    CHECK(memmem(why.p, why.n, "master key", 10) != NULL);
    accounts_free(accounts);
    change_free(f.accounts, &f.change);
    fixture_close(&f);
}

static bool load(enum account_kind kind, const char *document, struct str *why)
{
    return accounts_load(f.accounts, &f.arena, kind, STR("x"), str_of(document), why);
}

static const char *partner_document(int number, const char *id)
{
    struct vault vault = {.key = {1, 2, 3}}; /* as fixture_open has it */
    struct buf text = {0};
    buf_printf(&text,
               "{\"AccountNo\":%d,\"Version\":1,\"PartnerId\":\"%s\",\"Name\":\"n\","
               "\"Enabled\":true,\"OperationsSecret\":\"",
               number, id);
    vault_seal(&vault, &f.env, STR("whsec_c2VjcmV0"), &text);
    buf_add_c(&text, "\"}");
    struct str kept = arena_str(&f.arena, buf_str(&text));
    buf_free(&text);
    return kept.p;
}

static void documents_must_fit_together(void)
{
    static const char client[] = "{\"ClientNo\":1,\"Version\":1,\"AccountNo\":1,\"AppNo\":1,"
                                 "\"ClientId\":\"c1\",\"AppId\":\"a1\",\"Name\":\"n\","
                                 "\"Integration\":\"sdk\",\"Enabled\":true}";
    struct str why = STR_NONE;
    fixture_open(&f);
    const char *p1 = partner_document(1, "p1"), *other_id = partner_document(1, "p2"),
               *other_no = partner_document(2, "p1");
    REQUIRE(load(ACCOUNT_PARTNER, p1, &why));
    CHECK(!load(ACCOUNT_PARTNER, other_id, &why));
    CHECK_STR(why, "stored account entry x: another entry has its id or number");
    CHECK(!load(ACCOUNT_PARTNER, other_no, &why));
    CHECK(accounts_loaded(f.accounts, &f.arena, &why));
    REQUIRE(load(ACCOUNT_CLIENT, client, &why));
    CHECK(!accounts_loaded(f.accounts, &f.arena, &why));
    CHECK_STR(why, "stored account entries do not fit together: client c1 belongs to none");
    REQUIRE(fixture_app(&f, "p1", "{\"AppId\":\"a1\",\"CurrencyValue\":1}"));
    CHECK(accounts_loaded(f.accounts, &f.arena, &why));
    fixture_close(&f);
}

int main(void)
{
    RUN(defaults_of_an_app);
    RUN(every_field_of_an_app);
    RUN(faults_of_an_app);
    RUN(ids_are_unique_or_made);
    RUN(what_the_store_refused_never_was);
    RUN(patching);
    RUN(partners_and_clients_are_patched);
    RUN(versions_guard_changes);
    RUN(pausing_an_app);
    RUN(a_gone_url_disables_its_lane);
    RUN(keys);
    RUN(keys_grant_no_more_than_their_maker_has);
    RUN(as_many_as_an_account_may_have);
    RUN(documents_bring_everything_back);
    RUN(bad_documents_are_named);
    RUN(documents_must_fit_together);
    return check_done("accounts");
}
