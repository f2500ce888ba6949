/* Rotating a secret: which ones stay live, for how long, and which one Sig is made with. */
#include "accounts_fixture.h"

static struct fixture f;

/* Every overlap that was chosen is kept, whatever rotations follow, by entries that are read back
 * from their documents. */
static void rotating_many_times(void)
{
    struct str live[LIVE_SECRETS_MOST];
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\"}"));
    REQUIRE(fixture_app(&f, "p1",
                        "{\"AppId\":\"a1\",\"CurrencyValue\":1,\"CallbackSecret\":\"first-one\"}"));
    REQUIRE(fixture_rotate(&f, "{\"OverlapSeconds\":600,\"SigSwitch\":\"now\"}"));
    for (int i = 1; i < LIMIT_OLDER_SECRETS; i++)
        REQUIRE(fixture_rotate(&f, "{\"OverlapSeconds\":60,\"SigSwitch\":\"end\"}"));
    struct app *a = directory_app(f.directory, STR("a1"));
    CHECK_EQ_UINT(secrets_live(&a->secrets, f.now_ms, live), LIVE_SECRETS_MOST);
    CHECK_STR(live[LIVE_SECRETS_MOST - 1], "first-one");
    CHECK(str_eq(secrets_sig(&a->secrets, f.now_ms), live[LIVE_SECRETS_MOST - 2]));
    CHECK_EQ_INT(secrets_older_until_ms(&a->secrets, f.now_ms), f.now_ms + 600000);
    CHECK_EQ_UINT(secrets_live(&a->secrets, f.now_ms + 60000, live), 2);
    CHECK_STR(live[1], "first-one");
    CHECK(str_eq(secrets_sig(&a->secrets, f.now_ms + 60000), live[0]));
    app_unref(a);
    const struct json *v = fixture_body(&f, "{}");
    CHECK_EQ_UINT(change_rotate_secret(f.accounts, STR("a1"), false, v, &f.faults, &f.change),
                  CHANGE_SECRETS_LIVE);
    f.now_ms += 60000;
    REQUIRE(fixture_rotate(&f, "{}"));
    REQUIRE(fixture_rotate(&f, "{\"OverlapSeconds\":0}"));
    fixture_close(&f);
}

static void rotating_a_secret(void)
{
    struct str live[LIVE_SECRETS_MOST];
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\"}"));
    REQUIRE(fixture_app(&f, "p1",
                        "{\"AppId\":\"a1\",\"CurrencyValue\":1,\"CallbackSecret\":\"first-one\"}"));
    REQUIRE(fixture_rotate(&f, "{\"OverlapSeconds\":60,\"SigSwitch\":\"end\"}"));
    struct app *a = directory_app(f.directory, STR("a1"));
    CHECK_EQ_UINT(secrets_live(&a->secrets, f.now_ms + 59999, live), 2);
    CHECK(str_has_prefix(live[0], "whsec_"));
    CHECK_STR(live[1], "first-one");
    CHECK_STR(secrets_sig(&a->secrets, f.now_ms + 59999), "first-one");
    CHECK(str_has_prefix(secrets_sig(&a->secrets, f.now_ms + 60000), "whsec_"));
    CHECK_EQ_UINT(secrets_live(&a->secrets, f.now_ms + 60000, live), 1);
    struct str second = arena_str(&f.arena, a->secrets.newest);
    app_unref(a);
    /* Again within the overlap: both before stay live, what Sig was made with for this overlap. */
    REQUIRE(fixture_rotate(&f, "{}"));
    a = directory_app(f.directory, STR("a1"));
    CHECK_EQ_UINT(secrets_live(&a->secrets, f.now_ms + 86399999, live), 3);
    CHECK(str_eq(live[1], second));
    CHECK_STR(live[2], "first-one");
    CHECK(str_eq(secrets_sig(&a->secrets, f.now_ms), live[0]));
    CHECK_EQ_UINT(secrets_live(&a->secrets, f.now_ms + 86400000, live), 1);
    app_unref(a);
    REQUIRE(fixture_rotate(&f, "{\"OverlapSeconds\":0,\"SigSwitch\":\"end\"}"));
    a = directory_app(f.directory, STR("a1"));
    CHECK_EQ_UINT(secrets_live(&a->secrets, f.now_ms, live), 1);
    CHECK(str_eq(secrets_sig(&a->secrets, f.now_ms), a->secrets.newest));
    app_unref(a);
    CHECK(!fixture_rotate(&f, "{\"OverlapSeconds\":2592001,\"SigSwitch\":\"later\",\"X\":0}"));
    CHECK_STR(fixture_faults(&f),
              "X unknown_field, OverlapSeconds out_of_range, SigSwitch invalid");
    CHECK(fixture_rotate(&f, NULL));
    fixture_close(&f);
}

int main(void)
{
    RUN(rotating_a_secret);
    RUN(rotating_many_times);
    return check_done("secrets");
}
