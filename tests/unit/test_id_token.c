/* The file of identity providers, and what an ID token must say to be believed. */
#include "oidc/id_token.h"

#include "check.h"

#include <stdlib.h>

#define NOW_MS ((int64_t)1800000000 * 1000)

static const char *const file =
    "{\"Providers\":[{\"Name\":\"Staff\",\"Issuer\":\"https://id.example\",\"ClientId\":\"c\","
    "\"Groups\":{\"admins\":\"admin\",\"staff\":\"support\"}}]}";

static bool judge(const char *token, struct id_claims *ret, const char **ret_why)
{
    static struct providers p;
    static struct arena arena;
    char *why = NULL;
    providers_free(&p);
    arena_free(&arena);
    if (!providers_parse(&p, str_of(file), &why))
        return CHECK_CSTR(why, "");
    return id_token_judge(&arena, str_of(token), &p.list[0], STR("n"), NOW_MS, ret, ret_why);
}

#define GOOD "\"iss\":\"https://id.example\",\"aud\":\"c\",\"nonce\":\"n\",\"sub\":\"s\""
#define TIMES "\"iat\":1800000000,\"exp\":1800000300"

static void says_who_it_is(void)
{
    struct id_claims claims;
    const char *why;
    REQUIRE(judge("{" GOOD "," TIMES ",\"email\":\"Ada@B.example\",\"name\":\"Ada\","
                  "\"groups\":[\"x\",7,\"staff\",\"admins\"]}",
                  &claims, &why));
    CHECK_STR(claims.subject, "s");
    CHECK_STR(claims.email, "ada@b.example");
    CHECK_STR(claims.name, "Ada");
    CHECK_EQ_INT(claims.role, ROLE_ADMIN); /* the first of the file, not of the token */
    REQUIRE(judge("{" GOOD "," TIMES ",\"groups\":\"staff\",\"email_verified\":false,"
                  "\"email\":\"a@b.example\"}",
                  &claims, &why));
    CHECK_EQ_INT(claims.role, ROLE_SUPPORT);
    CHECK(!claims.email.p && !claims.name.p);
    REQUIRE(judge("{" GOOD "," TIMES ",\"groups\":{\"staff\":true}}", &claims, &why));
    CHECK_EQ_INT(claims.role, ROLE_NONE);
}

static void times_may_be_a_minute_off(void)
{
    static const struct {
        const char *times;
        bool good;
    } cases[] = {
        {"\"iat\":1800000060,\"exp\":1800000300", true},
        {"\"iat\":1800000061,\"exp\":1800000300", false},
        {"\"iat\":1799999000,\"exp\":1799999941.9", true},
        {"\"iat\":1799999000,\"exp\":1799999940", false},
        {"\"iat\":1800000000,\"exp\":1e12", false},
        {"\"iat\":1800000000,\"exp\":-1", false},
        {"\"iat\":1800000000,\"exp\":9999999999999", false},
        {"\"iat\":1800000000,\"exp\":1800000300,\"nbf\":1800000060", true},
        {"\"iat\":1800000000,\"exp\":1800000300,\"nbf\":\"1\"", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char token[512];
        struct id_claims claims;
        const char *why;
        snprintf(token, sizeof token, "{" GOOD ",%s}", cases[i].times);
        if (!CHECK_EQ_INT(judge(token, &claims, &why), cases[i].good))
            printf("    for %s\n", cases[i].times);
    }
}

static void who_must_sign_in_anew_has_done_it_since(void)
{
    static const struct {
        const char *auth_time;
        bool good, is_old;
    } cases[] = {
        {"", true, false}, /* some providers leave it out */
        {",\"auth_time\":1800000000", true, false},
        {",\"auth_time\":1799999880.5", true,
         false}, /* it began a minute ago, and clocks may differ */
        {",\"auth_time\":1799999879", false, true},
        {",\"auth_time\":1800000060", true, false},
        {",\"auth_time\":1800000061", false, false},
        {",\"auth_time\":0", false, false},
        {",\"auth_time\":-1", false, false},
        {",\"auth_time\":null", false, false},
        {",\"auth_time\":\"1800000000\"", false, false},
        {",\"auth_time\":[1800000000]", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char token[512];
        struct id_claims claims;
        const char *why;
        snprintf(token, sizeof token, "{" GOOD "," TIMES "%s}", cases[i].auth_time);
        REQUIRE(judge(token, &claims, &why)); /* for a sign-in it does not matter */
        bool is_old = true;
        why = id_token_judge_anew(&claims, NOW_MS - 60000, NOW_MS, &is_old);
        if (!CHECK_EQ_INT(!why, cases[i].good) || !CHECK_EQ_INT(is_old, cases[i].is_old))
            printf("    for %s\n", cases[i].auth_time);
    }
}

static void what_is_said_twice_or_is_no_object_is_nothing(void)
{
    struct id_claims claims;
    const char *why;
    CHECK(!judge("{" GOOD "," TIMES ",\"sub\":\"other\"}", &claims, &why));
    CHECK(!judge("[]", &claims, &why));
    CHECK(!judge("", &claims, &why));
}

static void refuses_file(const char *text, const char *want)
{
    struct providers p;
    char *why = NULL;
    CHECK(!providers_parse(&p, str_of(text), &why));
    CHECK_CSTR(why, want);
    free(why);
    providers_free(&p);
}

#define PROVIDER "{\"Providers\":[{\"Name\":\"S\",\"ClientId\":\"c\","
static void a_file_is_refused_by_the_member_that_is_wrong(void)
{
    refuses_file("{}", "Providers: must be a list of 1 to 32 providers");
    refuses_file("[]", "the body must be a JSON object");
    refuses_file("{\"Providers\":[7]}", "provider 1: the body must be a JSON object");
    refuses_file(PROVIDER "\"Issuer\":\"http://id.example\",\"Groups\":{\"a\":\"admin\"}}]}",
                 "provider 1: Issuer: must be https://...");
    refuses_file(PROVIDER "\"Issuer\":\"https://id.example\",\"Groups\":{\"a\":\"owner\"}}]}",
                 "provider 1: Groups: the role of \"a\" must be admin or support (or add "
                 "PartnerId)");
    refuses_file(PROVIDER "\"Issuer\":\"https://id.example\",\"Groups\":{\"a\":\"admin\"},"
                          "\"Group\":1}]}",
                 "provider 1: Group: there is no such field");
    refuses_file(PROVIDER "\"Issuer\":\"https://id.example\"}]}",
                 "provider 1: Groups: the field is required");
    refuses_file(PROVIDER "\"Issuer\":\"https://id.example\",\"Groups\":{\"a\":\"admin\"},"
                          "\"ClientSecretFile\":\"/no/such\"}]}",
                 "provider 1: ClientSecretFile: /no/such: No such file or directory");
}

int main(void)
{
    RUN(says_who_it_is);
    RUN(times_may_be_a_minute_off);
    RUN(who_must_sign_in_anew_has_done_it_since);
    RUN(what_is_said_twice_or_is_no_object_is_nothing);
    RUN(a_file_is_refused_by_the_member_that_is_wrong);
    return check_done("id_token");
}
