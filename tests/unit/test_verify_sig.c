/* Every mistake that verify_sig claims to know is made here and must be recognised. */
#include "domain/verify_sig.h"

#include "domain/signature.h"

#include "check.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#define SECRET "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"
#define DECODED "0123456789abcdef01234567"
#define P "user-\xc3\xbc/1"
#define R "r-1"

static void to_hex(const unsigned char *bytes, unsigned int n, char *ret_hex)
{
    for (unsigned int i = 0; i < n; i++)
        snprintf(ret_hex + 2 * i, 3, "%02x", bytes[i]);
}

static const char *md5(const char *text)
{
    static char hex[2 * EVP_MAX_MD_SIZE + 1];
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int n = 0;
    EVP_Digest(text, strlen(text), digest, &n, EVP_md5(), NULL);
    to_hex(digest, n, hex);
    return hex;
}

static const char *hmac(const EVP_MD *how, const char *key, const char *text)
{
    static char hex[2 * EVP_MAX_MD_SIZE + 1];
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned int n = 0;
    HMAC(how, key, (int)strlen(key), (const unsigned char *)text, strlen(text), mac, &n);
    to_hex(mac, n, hex);
    return hex;
}

static void check_with(const char *panelist_id, const char *secret, const char *sig,
                       enum verify_cause want, const char *why_part)
{
    struct verify_input in = {.panelist_id = str_of(panelist_id),
                              .reward_id = STR(R),
                              .sig = str_of(sig),
                              .secret = str_of(secret)};
    struct buf why = {0};
    enum verify_cause cause = verify_sig(&in, &why);
    if (!CHECK_CSTR(verify_cause_name(cause), verify_cause_name(want)) ||
        !CHECK(strstr(buf_c(&why), why_part) != NULL) ||
        !CHECK(strstr(buf_c(&why), "whsec_M") == NULL) ||
        !CHECK((why.n == 0) == (want == VERIFY_OK)))
        printf("    for Sig \"%s\": %s\n", sig, buf_c(&why));
    buf_free(&why);
}

static void check_sig(const char *sig, enum verify_cause want, const char *why_part)
{
    check_with(P, SECRET, sig, want, why_part);
}

static void accepts_the_vector(void)
{
    check_sig("68814bd5ca811bc95364ba60868977a8", VERIFY_OK, "");
    check_sig(md5(P R SECRET), VERIFY_OK, "");
}

static void says_what_is_missing(void)
{
    struct verify_input in = {.reward_id = STR(R), .sig = STR("x"), .secret = STR("y")};
    struct buf why = {0};
    CHECK_EQ_INT(verify_sig(&in, &why), VERIFY_MISSING_FIELD);
    CHECK(strstr(buf_c(&why), "PanelistId"));
    in.panelist_id = STR(P);
    in.reward_id = STR_NONE;
    buf_clear(&why);
    CHECK_EQ_INT(verify_sig(&in, &why), VERIFY_MISSING_FIELD);
    CHECK(strstr(buf_c(&why), "RewardId"));
    in.reward_id = STR(R);
    in.sig = STR_NONE;
    CHECK_EQ_INT(verify_sig(&in, &why), VERIFY_MISSING_SIG);
    in.signature = STR("68814bd5ca811bc95364ba60868977a8");
    CHECK_EQ_INT(verify_sig(&in, &why), VERIFY_ONLY_SIGNATURE);
    buf_free(&why);
}

static void knows_other_shapes(void)
{
    check_sig("", VERIFY_NOT_MD5_HEX, "empty");
    check_sig("68814bd5ca811bc95364ba60868977a8\n", VERIFY_NOT_MD5_HEX, "white space");
    check_sig("aIFL1cqBG8lTZLpghol3qA==", VERIFY_NOT_MD5_HEX, "base64");
    check_sig(hmac(EVP_sha1(), SECRET, P R), VERIFY_NOT_MD5_HEX, "SHA-1");
    check_sig(hmac(EVP_sha256(), SECRET, P R), VERIFY_NOT_MD5_HEX, "SHA-256");
    check_sig("v1,w0WTbsLn7HQtTdHV6B9cjz5B0AY0+x7aaQGZQDgu0Y8=", VERIFY_NOT_MD5_HEX, "webhook");
    check_sig("0x814bd5ca811bc95364ba60868977a8", VERIFY_NOT_MD5_HEX, "else");
}

static void knows_orders_and_parts(void)
{
    check_sig("68814BD5CA811BC95364BA60868977A8", VERIFY_UPPER_CASE, "upper-case");
    check_sig(md5(R P SECRET), VERIFY_ORDER, "RewardId, PanelistId, secret");
    check_sig(md5(SECRET P R), VERIFY_ORDER, "secret, PanelistId, RewardId");
    check_sig(md5(SECRET R P), VERIFY_ORDER, "secret, RewardId, PanelistId");
    check_sig(md5(P SECRET R), VERIFY_ORDER, "PanelistId, secret, RewardId");
    check_sig(md5(R SECRET P), VERIFY_ORDER, "RewardId, secret, PanelistId");
    check_sig(md5(P R), VERIFY_PART_MISSING, "without the secret");
    check_sig(md5(P SECRET), VERIFY_PART_MISSING, "without RewardId");
    check_sig(md5(R SECRET), VERIFY_PART_MISSING, "without PanelistId");
    check_sig(md5(P ":" R ":" SECRET), VERIFY_SEPARATOR, "with : between");
    check_sig(md5(P "\n" R "\n" SECRET), VERIFY_SEPARATOR, "white space");
}

static void knows_forms_of_the_secret(void)
{
    check_sig(hmac(EVP_md5(), SECRET, P R), VERIFY_HMAC, "HMAC");
    check_sig(hmac(EVP_md5(), DECODED, P R), VERIFY_HMAC, "HMAC");
    check_sig(md5(P R "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"), VERIFY_SECRET_PREFIX, "whole string");
    check_sig(md5(P R DECODED), VERIFY_SECRET_DECODED, "base64-decoded");
    check_with(P, "plain-secret", hmac(EVP_md5(), "plain-secret", P R), VERIFY_HMAC, "HMAC");
    check_with(P, SECRET + 6, md5(P R SECRET), VERIFY_SECRET_PREFIX, "give the whole string");
    check_with(P, "\"" SECRET "\"", md5(P R SECRET), VERIFY_SECRET_QUOTED, "without the quotes");
    check_with(P, "'plain-secret'", md5(P R "plain-secret"), VERIFY_SECRET_QUOTED, "quotes");
    check_with(P, "\"" SECRET "'", md5(P R SECRET), VERIFY_UNEXPLAINED, "another secret");
    check_with(P, "\"", md5(P R), VERIFY_PART_MISSING, "without the secret");
}

static void knows_white_space(void)
{
    check_sig(md5(P R SECRET "\n"), VERIFY_WHITE_SPACE, "after the secret");
    check_sig(md5(P R SECRET "\r\n"), VERIFY_WHITE_SPACE, "after the secret");
    check_sig(md5(P R "\n" SECRET), VERIFY_WHITE_SPACE, "after RewardId");
    check_sig(md5(P " " R SECRET), VERIFY_WHITE_SPACE, "after PanelistId");
    check_with(P, SECRET "\n", md5(P R SECRET), VERIFY_WHITE_SPACE, "around the secret");
    check_with(P, "  " SECRET, md5(P R SECRET), VERIFY_WHITE_SPACE, "around the secret");
    check_with(" 7 ", SECRET, md5("7" R SECRET), VERIFY_WHITE_SPACE, "around PanelistId");
}

static void knows_changed_ids(void)
{
    check_with("007", SECRET, md5("7" R SECRET), VERIFY_ID_CHANGED, "number");
    check_with("42", SECRET, md5("42.0" R SECRET), VERIFY_ID_CHANGED, "number");
    check_with("User-A", SECRET, md5("user-a" R SECRET), VERIFY_ID_CHANGED, "lower case");
    check_sig(md5("user-%C3%BC%2F1" R SECRET), VERIFY_ID_CHANGED, "percent");
    check_sig(md5("user-%c3%bc%2f1" R SECRET), VERIFY_ID_CHANGED, "percent");
    check_sig(md5("user-\xc3\xbc\\/1" R SECRET), VERIFY_ID_CHANGED, "escaped");
}

static void admits_what_it_cannot_know(void)
{
    check_sig(md5(P R "another secret"), VERIFY_UNEXPLAINED, "another secret");
    check_sig(md5("user-2" R SECRET), VERIFY_UNEXPLAINED, "altered");
    check_with("", "", md5("x"), VERIFY_UNEXPLAINED, "another secret");
    char longest[1000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    check_with(P, longest, md5("x"), VERIFY_UNEXPLAINED, "another secret");
}

int main(void)
{
    RUN(accepts_the_vector);
    RUN(says_what_is_missing);
    RUN(knows_other_shapes);
    RUN(knows_orders_and_parts);
    RUN(knows_forms_of_the_secret);
    RUN(knows_white_space);
    RUN(knows_changed_ids);
    RUN(admits_what_it_cannot_know);
    return check_done("verify");
}
