/* Sig and webhook-signature against known answers, on any thread, for any secret. */
#include "domain/answer_secrets.h"
#include "domain/signature.h"

#include "check.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>

#define SECRET STR("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3")
#define AT_S 1763726400

static const char survey_body[] =
    "{\"Sig\":\"68814bd5ca811bc95364ba60868977a8\",\"PanelistId\":\"user-\xc3\xbc/1\","
    "\"RewardType\":\"survey_completed\",\"RewardId\":\"r-1\",\"Reward\":72.00,"
    "\"SessionId\":\"s \\\"1\\\"\",\"RevenueAmount\":0.35,\"IsTest\":false}";
static const char offer_body[] =
    "{\"Sig\":\"1869117705bdee1a6406e206fb0100d6\",\"OfferId\":12345,\"OfferGoalId\":null,"
    "\"OfferTitle\":\"Ti<tle>\",\"PanelistId\":\"user-\xc3\xbc/"
    "1\",\"RewardType\":\"offer_clicked\","
    "\"RewardId\":\"c-1\",\"Reward\":0.00,\"RevenueAmount\":0.00,\"ClientId\":\"c_1\","
    "\"Timestamp\":\"2026-11-20T12:00:00.000Z\"}";

static void check_sig(struct str panelist_id, struct str reward_id, struct str secret,
                      const char *want)
{
    char hex[SIG_HEX_BYTES];
    signature_sig(panelist_id, reward_id, secret, hex);
    CHECK_BYTES(hex, sizeof hex, want, strlen(want));
}

static void check_webhook(struct str secret, struct str id, const char *body, const char *want)
{
    char text[WEBHOOK_SIGNATURE_BYTES];
    signature_webhook(secret, id, AT_S, str_of(body), text);
    CHECK_CSTR(text, want);
}

static void sig_matches_the_vectors(void)
{
    struct str panelist = STR("user-\xc3\xbc/1");
    check_sig(panelist, STR("r-1"), SECRET, "68814bd5ca811bc95364ba60868977a8");
    check_sig(panelist, STR("c-1"), SECRET, "1869117705bdee1a6406e206fb0100d6");
    check_sig(STR(""), STR(""), STR(""), "d41d8cd98f00b204e9800998ecf8427e"); /* RFC 1321 */
    check_sig(STR("a"), STR("b"), STR("c"), "900150983cd24fb0d6963f7d28e17f72");
    check_sig(STR_NONE, STR("ab"), STR("c"), "900150983cd24fb0d6963f7d28e17f72");
}

static void webhook_signature_matches_the_vectors(void)
{
    const char *survey = "v1,w0WTbsLn7HQtTdHV6B9cjz5B0AY0+x7aaQGZQDgu0Y8=";
    const char *offer = "v1,Dm53LZZmtev/4bFFucI7Mz53YOBDibcXMWvNOWFxeNY=";
    for (int i = 0; i < 3; i++) { /* the second time with a context that is keyed already */
        check_webhook(SECRET, STR("r-1"), survey_body, survey);
        check_webhook(SECRET, STR("c-1"), offer_body, offer);
    }
}

/* The same by OpenSSL's one-shot functions, from the key's bytes. */
static void expected(const void *key, int key_n, const char *id, const char *body, char ret[64])
{
    char text[1024];
    int n = snprintf(text, sizeof text, "%s.%d.%s", id, AT_S, body);
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned int mac_n = 0;
    HMAC(EVP_sha256(), key, key_n, (unsigned char *)text, (size_t)n, mac, &mac_n);
    memcpy(ret, "v1,", 3);
    EVP_EncodeBlock((unsigned char *)ret + 3, mac, (int)mac_n);
}

static void the_key_is_what_the_secret_encodes(void)
{
    static const struct {
        const char *secret;
        const char *key;
        int key_n;
    } rows[] = {
        {"plain-secret", "plain-secret", 12}, {"whsec_YWJjZGVm", "abcdef", 6},
        {"whsec_YWJjZGU=", "abcde", 5},       {"whsec_YWJjZA==", "abcd", 4},
        {"whsec_//++", "\xff\xff\xbe", 3},    {"WHSEC_YWJjZGVm", "WHSEC_YWJjZGVm", 14},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char want[64];
        expected(rows[i].key, rows[i].key_n, "r-1", "{}", want);
        check_webhook(str_of(rows[i].secret), STR("r-1"), "{}", want);
    }
}

/* More secrets than a thread keeps keyed, taking turns: none may answer for another. */
static void secrets_do_not_mix(void)
{
    bool same = true;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3000 && same; i++) {
            char secret[32], want[64], got[WEBHOOK_SIGNATURE_BYTES];
            int n = snprintf(secret, sizeof secret, "secret-number-%d", i);
            expected(secret, n, "r-1", "{}", want);
            signature_webhook(str_of(secret), STR("r-1"), AT_S, STR("{}"), got);
            same = strcmp(got, want) == 0;
        }
    }
    CHECK(same);
}

static void *sign_on_a_thread(void *ret_good)
{
    char text[WEBHOOK_SIGNATURE_BYTES], hex[SIG_HEX_BYTES];
    bool good = true;
    for (int i = 0; i < 1000; i++) {
        signature_webhook(SECRET, STR("r-1"), AT_S, str_of(survey_body), text);
        signature_sig(STR("a"), STR("b"), STR("c"), hex);
        good = good && strcmp(text, "v1,w0WTbsLn7HQtTdHV6B9cjz5B0AY0+x7aaQGZQDgu0Y8=") == 0 &&
               memcmp(hex, "900150983cd24fb0d6963f7d28e17f72", sizeof hex) == 0;
    }
    *(bool *)ret_good = good;
    return NULL;
}

static void threads_sign_side_by_side(void)
{
    pthread_t threads[4];
    bool good[4] = {false};
    for (size_t i = 0; i < 4; i++)
        REQUIRE(pthread_create(&threads[i], NULL, sign_on_a_thread, &good[i]) == 0);
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(good[i]);
    }
}

static void makes_secrets_it_accepts(void)
{
    static const uint8_t zeros[32];
    for (int n = 24; n <= 32; n++) {
        char text[SECRET_TEXT_MAX];
        int length = signature_make_secret(zeros, n, text);
        const char *why = NULL;
        CHECK_EQ_INT(length, 6 + (n + 2) / 3 * 4);
        CHECK(signature_secret_valid((struct str){text, (size_t)length}, &why));
    }
    char text[SECRET_TEXT_MAX];
    int length = signature_make_secret((const uint8_t *)"0123456789abcdef01234567", 24, text);
    CHECK_STR(((struct str){text, (size_t)length}), "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3");
    CHECK_ABORTS(signature_make_secret(zeros, 23, text));
}

static void judges_given_secrets(void)
{
    static const char *const good[] = {"12345678", "!\"#$%&'~", "whsec_YWJjZGVm", "Whsec_?????"};
    static const char *const bad[] = {"",
                                      "1234567",
                                      "with space",
                                      "tab\tinside",
                                      "umlaut-\xc3\xbc",
                                      "whsec_YWJjZGV",
                                      "whsec_YWJj ZGV",
                                      "whsec_-_-_",
                                      "whsec_====",
                                      "whsec_YWJj====",
                                      "whsec_"};
    const char *why = NULL;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK(signature_secret_valid(str_of(good[i]), &why));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        why = NULL;
        if (!CHECK(!signature_secret_valid(str_of(bad[i]), &why)) || !CHECK(why && *why))
            printf("    for \"%s\"\n", bad[i]);
    }
    char longest[257];
    memset(longest, 'x', sizeof longest);
    CHECK(signature_secret_valid((struct str){longest, 256}, &why));
    CHECK(!signature_secret_valid((struct str){longest, 257}, &why));
    char text[WEBHOOK_SIGNATURE_BYTES];
    signature_webhook((struct str){longest, 256}, STR("r"), AT_S, STR("{}"), text);
    char want[64];
    expected(longest, 256, "r", "{}", want);
    CHECK_CSTR(text, want);
}

static void hides_a_sig_in_what_is_echoed(void)
{
#define HEX "68814bd5ca811bc95364ba60868977a8"
#define STARS_22 "**********************"
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ""},
        {"ok", "ok"},
        {"68814bd", "68814bd"}, /* too short to be the beginning of one */
        {"68814bd5", "********"},
        {"68814BD5CA81", "************"},
        {"a68814bd5ca811bc95364ba60868977a", "a" STARS_22 "*********"},
        {"68814bd5 ", "68814bd5 "},
        {HEX HEX, STARS_22 "**********" STARS_22 "**********"},
        {"\"" HEX "\"", "\"" STARS_22 "**********\""},
        {"78814bd5ca811bc95364ba60868977a8", "78814bd5ca811bc95364ba60868977a8"},
        {"aIFL1cqBG8lTZLpghol3qA==", STARS_22 "=="},
        {"x=aIFL1cqBG8lTZLpghol3qA&y", "x=" STARS_22 "&y"},
        {"aifl1cqbg8ltzlpghol3qa", "aifl1cqbg8ltzlpghol3qa"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[80];
        snprintf(text, sizeof text, "%s", cases[i].text);
        answer_hide_secrets(text, strlen(text), HEX, STR_NONE);
        CHECK_CSTR(text, cases[i].want);
    }
    /* 0xfb 0xff ... has both letters that the alphabets differ in */
    char plain[] = "+/8AAAAAAAAAAAAAAAAAAA", url[] = "-_8AAAAAAAAAAAAAAAAAAA";
    answer_hide_secrets(plain, sizeof plain - 1, "fbff0000000000000000000000000000", STR_NONE);
    answer_hide_secrets(url, sizeof url - 1, "fbff0000000000000000000000000000", STR_NONE);
    CHECK_CSTR(plain, STARS_22);
    CHECK_CSTR(url, STARS_22);
    char digits[] = "fbff0000000000000000000000000000 FBff0000000000000000000000000000 FBFF0000";
    answer_hide_secrets(digits, sizeof digits - 1, "fbff0000000000000000000000000000", STR_NONE);
    CHECK_CSTR(digits, STARS_22 "********** " STARS_22 "********** ********");
}

int main(void)
{
    RUN(sig_matches_the_vectors);
    RUN(webhook_signature_matches_the_vectors);
    RUN(the_key_is_what_the_secret_encodes);
    RUN(secrets_do_not_mix);
    RUN(threads_sign_side_by_side);
    RUN(makes_secrets_it_accepts);
    RUN(judges_given_secrets);
    RUN(hides_a_sig_in_what_is_echoed);
    return check_done("signature");
}
