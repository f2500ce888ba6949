/* Lists, weights and entity tags as RFC 9110 has them. */
#include "domain/negotiate.h"

#include "check.h"

static void check_media(const char *accept, int quality, int named)
{
    struct media_wish wish = accept_media(str_of(accept), "text/csv");
    CHECK_EQ_INT(wish.quality, quality);
    CHECK_EQ_INT(wish.named, named);
}

static void the_closest_range_says_how_much(void)
{
    check_media(NULL, 1000, 1);
    check_media("", 0, 0);
    check_media("application/json", 0, 0);
    check_media("*/*;q=0.8, text/*;q=0.5, TEXT/CSV ; Q=0.25", 250, 3);
    check_media("text/csv;q=0, */*", 0, 3);
    check_media("text/*;q=0.123", 123, 2);
    check_media("text/csv;header=absent;q=0.9, text/csv;q=0.1", 100, 3);
    check_media("text/csv;header=\"a;q=0,b\";q=0.9", 900, 3);
    check_media("text/html;a=\"x,\\\",text/csv;q=0.5,\", ,, text/csv;q=0.7", 700, 3);
    check_media("text/html;a=\"never closed, text/csv", 0, 0);
    check_media("text/csvx, text/cs, tex/*", 0, 0);
}

static void only_utf8_is_utf8(void)
{
    static const char *const good[] = {"application/json", "application/json;charset=utf-8",
                                       "application/json; x=y ; CharSet = \"UTF-8\"",
                                       "application/json; x=\";charset=latin1\"; charset=utf8",
                                       "application/json;;"};
    static const char *const bad[] = {
        "application/json;charset=utf-16", "application/json; charset",
        "application/json; charset=utf-8; charset=latin1", "application/json; charset=\"\"",
        "application/json; charset=utf-8utf-8utf-8"};
    CHECK(media_is_utf8(STR_NONE));
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK(media_is_utf8(str_of(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!media_is_utf8(str_of(bad[i])));
}

static void weights_that_are_none_count_nothing(void)
{
    static const char *const wrong[] = {"2", "1.1", "-1", "0.1234", ".5", "0,5", "x", "", "1.0001"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        char accept[64];
        snprintf(accept, sizeof accept, "text/csv;q=%s", wrong[i]);
        check_media(accept, 0, 3);
    }
    check_media("text/csv;q=1.000", 1000, 3);
    check_media("text/csv;q=0.", 0, 3);
    check_media("text/csv;q", 0, 3);
}

static bool prefers_csv(const char *accept)
{
    return accept_prefers(str_of(accept), "text/csv", "application/json");
}

static void the_first_is_preferred_where_it_is_wanted_more(void)
{
    CHECK(prefers_csv("text/csv"));
    CHECK(prefers_csv("text/csv, */*"));
    CHECK(prefers_csv("text/html, text/csv;q=0.5"));
    CHECK(prefers_csv("application/json;q=0.5, text/csv;q=0.6"));
    CHECK(prefers_csv("text/*"));
    CHECK(!prefers_csv(NULL));
    CHECK(!prefers_csv("*/*"));
    CHECK(!prefers_csv("text/csv;q=0.000"));
    CHECK(!prefers_csv("text/csv;q=0, application/json;q=0"));
    CHECK(!prefers_csv("text/csv, application/json"));
    CHECK(!prefers_csv("application/json, text/csv;q=0.5"));
    CHECK(!prefers_csv("text/csv;q=0.4, */*;q=0.5"));
}

static void gzip_is_chosen_where_it_is_taken(void)
{
    static const char *const gzip[] = {"gzip",
                                       "deflate, GZIP;q=0.5",
                                       "br, x-gzip",
                                       "*",
                                       "gzip; q=1.0, identity",
                                       "*;q=0, gzip",
                                       "gzip, identity;q=0",
                                       "*, identity;q=0.5",
                                       "gzip;q=0.001"};
    static const char *const identity[] = {NULL,
                                           "",
                                           "identity",
                                           "gzip;q=0",
                                           "gzip; q=0.000, *",
                                           "gzipped",
                                           "br, zstd",
                                           "gzip;q=0.5, identity",
                                           "gzip;q=0.5, *;q=0.9, identity;q=0.6",
                                           "gzip;q=2",
                                           "gzip;q=0.0",
                                           "identity;q=0.5, *;q=0"};
    static const char *const none[] = {"identity;q=0", "*;q=0", "gzip;q=0, identity;q=0",
                                       "br, *;q=0"};
    for (size_t i = 0; i < ARRAY_LEN(gzip); i++)
        CHECK_EQ_INT(accept_coding(str_of(gzip[i]), true), CODING_GZIP);
    for (size_t i = 0; i < ARRAY_LEN(identity); i++)
        CHECK_EQ_INT(accept_coding(str_of(identity[i]), false), CODING_IDENTITY);
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        CHECK_EQ_INT(accept_coding(str_of(none[i]), true), CODING_NONE);
    CHECK(accept_refuses_identity(STR("gzip, identity;q=0")));
    CHECK(accept_refuses_identity(STR("gzip, *;q=0")));
    CHECK(!accept_refuses_identity(STR("gzip")) && !accept_refuses_identity(STR_NONE));
}

static void zstd_is_chosen_where_it_is_wanted_as_much(void)
{
    static const struct {
        const char *accepted;
        enum coding wanted, without;
    } cases[] = {
        {"gzip, deflate, br, zstd", CODING_ZSTD, CODING_GZIP},
        {"ZSTD", CODING_ZSTD, CODING_IDENTITY},
        {"zstd;q=0.5, gzip;q=0.5", CODING_ZSTD, CODING_GZIP},
        {"zstd;q=0.4, gzip;q=0.5", CODING_GZIP, CODING_GZIP},
        {"zstd;q=0, gzip", CODING_GZIP, CODING_GZIP},
        {"zstd;q=0.5, identity", CODING_IDENTITY, CODING_IDENTITY},
        {"zstd;q=0.5, gzip;q=0.1, identity;q=0.9", CODING_IDENTITY, CODING_IDENTITY},
        {"zstd, identity;q=0", CODING_ZSTD, CODING_NONE},
        {"zstd, *;q=0.1", CODING_ZSTD, CODING_GZIP},
        {"zstd;q=0, *;q=0", CODING_NONE, CODING_NONE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_EQ_INT(accept_coding(str_of(cases[i].accepted), true), cases[i].wanted);
        CHECK_EQ_INT(accept_coding(str_of(cases[i].accepted), false), cases[i].without);
    }
    CHECK_STR(str_of(coding_name(CODING_ZSTD)), "zstd");
}

static void entity_tags_are_compared_as_the_header_asks(void)
{
    struct str tag = STR("\"v,1\"");
    CHECK(etag_listed_strong(STR("\"x\", \"v,1\""), tag));
    CHECK(etag_listed_strong(STR(" * "), tag));
    CHECK(!etag_listed_strong(STR("W/\"v,1\""), tag));
    CHECK(etag_listed_strong(STR("\"\\\", \"v,1\""), tag)); /* a backslash is a tag, too */
    CHECK(!etag_listed_strong(STR("\"v\", \"1\""), tag));
    CHECK(!etag_listed_strong(STR("v,1"), tag));
    CHECK(!etag_listed_strong(STR(""), tag));
    CHECK(!etag_listed_strong(STR("*, \"x\""), tag));
    CHECK(etag_listed_weak(STR("\"x\" ,W/\"v,1\""), tag));
    CHECK(etag_listed_weak(STR("\"v,1\""), STR("W/\"v,1\"")));
    CHECK(etag_listed_weak(STR("*"), tag));
    CHECK(!etag_listed_weak(STR("\"v\", 1\""), tag));
}

int main(void)
{
    RUN(the_closest_range_says_how_much);
    RUN(only_utf8_is_utf8);
    RUN(weights_that_are_none_count_nothing);
    RUN(the_first_is_preferred_where_it_is_wanted_more);
    RUN(gzip_is_chosen_where_it_is_taken);
    RUN(zstd_is_chosen_where_it_is_wanted_as_much);
    RUN(entity_tags_are_compared_as_the_header_asks);
    return check_done("negotiate");
}
