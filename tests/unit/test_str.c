/*
 * Borrowed runs of bytes: absent is not empty, cutting loses nothing, and UTF-8 is what RFC 3629
 * says.
 */
#include "check.h"

#include "base/check.h"
#include "base/str.h"

static void absent_is_not_empty(void)
{
    CHECK(str_eq(STR_NONE, STR_NONE));
    CHECK(!str_eq(STR_NONE, STR("")));
    CHECK(!str_eq(STR(""), STR_NONE));
    CHECK(str_eq(STR(""), STR("")));
    CHECK(!str_is(STR_NONE, ""));
    CHECK(str_is(STR(""), ""));
    CHECK(str_of(NULL).p == NULL);
}

static void no_set_has_the_character_that_ends_it(void)
{
    CHECK(char_in('a', "ba") && char_in('\n', " \n"));
    CHECK(!char_in('c', "ba") && !char_in('a', ""));
    CHECK(!char_in('\0', "ba") && !char_in('\0', ""));
}

static void order_is_by_bytes_then_length(void)
{
    CHECK(str_cmp(STR("a"), STR("b")) < 0);
    CHECK(str_cmp(STR("ab"), STR("a")) > 0);
    CHECK(str_cmp(STR("\xc3"), STR("z")) > 0);
    CHECK_EQ_INT(str_cmp(STR("same"), STR("same")), 0);
    CHECK(str_cmp(STR(""), STR("a")) < 0);
    CHECK(!str_eq(STR("ab"), STR("ac")));
    CHECK(str_has_prefix(STR("whsec_x"), "whsec_"));
    CHECK(!str_has_prefix(STR("whsec"), "whsec_"));
    CHECK(str_eq_nocase(STR("Content-TYPE"), "content-type"));
    CHECK(!str_eq_nocase(STR("content-typ"), "content-type"));
}

static void cut_takes_every_part(void)
{
    struct str rest = STR("a,,bc,");
    CHECK_STR(str_cut(&rest, ','), "a");
    CHECK_STR(str_cut(&rest, ','), "");
    CHECK_STR(str_cut(&rest, ','), "bc");
    CHECK_STR(str_cut(&rest, ','), "");
    CHECK(rest.p == NULL);
    CHECK(str_cut(&rest, ',').p == NULL);
    rest = STR("");
    CHECK_STR(str_cut(&rest, ','), "");
    CHECK(rest.p == NULL);
}

static void trim_takes_spaces_and_tabs_only(void)
{
    CHECK_STR(str_trim(STR(" \t a b\t ")), "a b");
    CHECK_STR(str_trim(STR("\na")), "\na");
    CHECK_STR(str_trim(STR(" \t ")), "");
}

static void utf8_is_rfc_3629(void)
{
    static const char *const good[] = {"",
                                       "plain",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc2",
                                      "\xc2\x41",
                                      "\xe0\x9f\xbf",
                                      "\xe1\x80",
                                      "\xe1\x80\x41",
                                      "\xed\xa0\x80",
                                      "\xed\xbf\xbf",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf0\x90\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xfe",
                                      "\xff",
                                      "good then \xc3"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (!CHECK(str_is_utf8(str_of(good[i]))))
            printf("    number %zu\n", i);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (!CHECK(!str_is_utf8(str_of(bad[i]))))
            printf("    number %zu\n", i);
}

static void a_prefix_cuts_no_character(void)
{
    struct str text = STR("a\xc3\xbc\xf0\x9f\x98\x80z"); /* 1, 2, 4 and 1 bytes */
    static const size_t kept[] = {0, 1, 1, 3, 3, 3, 3, 7, 8, 8};
    for (size_t most = 0; most < ARRAY_LEN(kept); most++)
        CHECK_EQ_UINT(str_utf8_prefix(text, most).n, kept[most]);
}

static void prints_hex_digits(void)
{
    char to[9] = {0};
    hex_print(to, "\x00\x9a\xff\x0f", 4);
    CHECK_STR(str_of(to), "009aff0f");
}

static void a_number_is_digits_up_to_a_bound(void)
{
    static const struct {
        const char *text;
        uint64_t most, value;
    } good[] = {{"0", 0, 0},
                {"0", UINT64_MAX, 0},
                {"7", 7, 7},
                {"65535", UINT16_MAX, 65535},
                {"000000000000000000000000000065535", UINT16_MAX, 65535},
                {"9223372036854775807", INT64_MAX, INT64_MAX},
                {"18446744073709551615", UINT64_MAX, UINT64_MAX}};
    static const struct {
        const char *text;
        uint64_t most;
    } bad[] = {{"", UINT64_MAX},
               {"-1", UINT64_MAX},
               {"+1", UINT64_MAX},
               {" 1", UINT64_MAX},
               {"1 ", UINT64_MAX},
               {"1x", UINT64_MAX},
               {"1", 0},
               {"8", 7},
               {"65536", UINT16_MAX},
               {"9223372036854775808", INT64_MAX},
               {"18446744073709551616", UINT64_MAX},
               {"184467440737095516150", UINT64_MAX},
               {"99999999999999999999999", UINT64_MAX}};
    uint64_t value = 1;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (!CHECK(str_parse_uint(str_of(good[i].text), good[i].most, &value) &&
                   value == good[i].value))
            printf("    %s\n", good[i].text);
    value = 4711;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (!CHECK(!str_parse_uint(str_of(bad[i].text), bad[i].most, &value) && value == 4711))
            printf("    %s\n", bad[i].text);
    CHECK(!str_parse_uint(STR_NONE, UINT64_MAX, &value));
}

int main(void)
{
    RUN(a_number_is_digits_up_to_a_bound);
    RUN(absent_is_not_empty);
    RUN(no_set_has_the_character_that_ends_it);
    RUN(order_is_by_bytes_then_length);
    RUN(cut_takes_every_part);
    RUN(trim_takes_spaces_and_tabs_only);
    RUN(utf8_is_rfc_3629);
    RUN(a_prefix_cuts_no_character);
    RUN(prints_hex_digits);
    return check_done("str");
}
