/* Which answers say what an app asks for. */
#include "accounts/success_answer.h"

#include "base/limits.h"
#include "check.h"

static const struct success_answer any;

static struct success_answer body(const char *text)
{
    return (struct success_answer){.rule = SUCCESS_BODY, .text = str_of(text)};
}

static struct success_answer part(const char *text)
{
    return (struct success_answer){.rule = SUCCESS_CONTAINS, .text = str_of(text)};
}

static struct success_answer field(const char *name, const char *value)
{
    return (struct success_answer){
        .rule = SUCCESS_FIELD, .text = str_of(value), .field = str_of(name)};
}

/* `why` is the clause; NULL: a success. */
static void judge_bytes(struct success_answer s, struct str answer, bool is_cut, const char *why)
{
    struct buf said = {0};
    bool good = success_answer_judge(&s, answer, is_cut, &said);
    if (!CHECK_EQ_INT(good, why == NULL) || !CHECK_CSTR(buf_c(&said), why ? why : ""))
        printf("    for %.*s\n", STR_ARG(answer));
    buf_free(&said);
}

static void judge(struct success_answer s, const char *answer, const char *why)
{
    judge_bytes(s, str_of(answer), false, why);
}

static void any_2xx_is_one(void)
{
    judge(any, "", NULL);
    judge(any, "{\"status\":400}", NULL);
    judge_bytes(any, STR_NONE, true, NULL);
}

static void a_body_is_the_text_but_for_white_space_around_it(void)
{
    judge(body("OK"), "OK", NULL);
    judge(body("OK"), " \r\n\tOK\n", NULL);
    judge(body(" OK\n"), "OK", NULL);
    judge(body("OK"), "\xef\xbb\xbfOK", NULL);
    judge(body("O K"), "O K", NULL);
    judge(body("\xff"), "\xff", NULL); /* no UTF-8: bytes */
    judge(body("OK"), "ok", "its body is not \"OK\": it begins with \"ok\"");
    judge(body("OK"), "OK!", "its body is not \"OK\": it begins with \"OK!\"");
    judge(body("OK"), "", "without a body");
    judge(body("OK"), " ", "its body is not \"OK\": it begins with \" \"");
    judge_bytes(body("OK"), STR_NONE, false, "without a body");
    judge_bytes(body("OK"), STR_NONE, true, "its body did not come");
    judge_bytes(body("OK"), STR("OK"), true, "its body did not end behind \"OK\"");
    judge_bytes(body("OK"), STR("\x1f\x8b\x08"), false,
                "its body is not \"OK\": it is compressed (gzip), which was not asked for");
}

static void a_part_may_stand_anywhere(void)
{
    judge(part("ok"), "it is ok now", NULL);
    judge(part(" "), "a b", NULL);
    judge_bytes(part("ok"), STR("ok and more"), true, NULL);
    judge_bytes(part("b"), STR("a\0b"), false, NULL);
    judge(part("ok"), "OK", "its body does not contain \"ok\": it begins with \"OK\"");
    judge(part("ok"), "o", "its body does not contain \"ok\": it begins with \"o\"");
}

static void a_field_is_named_or_pointed_to(void)
{
    judge(field("status", "ok"), "{\"a\":{\"status\":\"no\"},\"status\":\"ok\"}", NULL);
    judge(field("a.b", "1"), "{\"a.b\":1}", NULL);
    judge(field("/a/b", "1"), "{\"a\":{\"b\":1}}", NULL);
    judge(field("/0/s", "1"), "[{\"s\":1}]", NULL);
    judge(field("/a/10", "1"), "{\"a\":[0,0,0,0,0,0,0,0,0,0,1]}", NULL);
    judge(field("/a~1b/~0", "1"), "{\"a/b\":{\"~\":1}}", NULL);
    judge(field("/a~01", "1"), "{\"a~1\":1}", NULL);
    judge(field("/", "1"), "{\"\":1}", NULL);
    judge(field("/a/", "1"), "{\"a\":{\"\":1}}", NULL);
    judge(field("/01", "1"), "[0,1]", "its field \"/01\" is missing");
    judge(field("/-", "1"), "[1]", "its field \"/-\" is missing");
    judge(field("/2", "1"), "[1,1]", "its field \"/2\" is missing");
    judge(field("/99999999999999999999", "1"), "[1]",
          "its field \"/99999999999999999999\" is missing");
    judge(field("a", "1"), "[1]", "its field \"a\" is missing");
    judge(field("a", "1"), "1", "its field \"a\" is missing");
    judge(field("/a/b", "1"), "{\"a\":1}", "its field \"/a/b\" is missing");
    judge(field("/a", "1"), "{\"aa\":1,\"\":1}", "its field \"/a\" is missing");
}

static void a_value_is_its_text(void)
{
    judge(field("s", "1"), "{\"s\":1}", NULL);
    judge(field("s", "1"), "{\"s\":\"1\"}", NULL);
    judge(field("s", "true"), "{\"s\":true}", NULL);
    judge(field("s", "false"), "{\"s\":false}", NULL);
    judge(field("s", "null"), "{\"s\":null}", NULL);
    judge(field("s", "\xc3\xbc"), "{\"s\":\"\\u00fc\"}", NULL);
    judge(field("s", "ok"), "\xef\xbb\xbf {\"s\":\"ok\"}\n", NULL);
    judge(field("s", "1"), "{\"s\":1.0}", "its field \"s\" is \"1.0\", not \"1\"");
    judge(field("s", "200"), "{\"s\":400}", "its field \"s\" is \"400\", not \"200\"");
    judge(field("s", "ok"), "{\"s\":[\"ok\"]}", "its field \"s\" is an array, not \"ok\"");
    judge(field("s", "ok"), "{\"s\":{}}", "its field \"s\" is an object, not \"ok\"");
}

static void of_members_of_one_name_the_last_counts(void)
{
    judge(field("s", "ok"), "{\"s\":\"no\",\"t\":1,\"s\":\"ok\"}", NULL);
    judge(field("/a/s", "ok"), "{\"a\":1,\"a\":{\"s\":\"no\",\"s\":\"ok\"}}", NULL);
    judge(field("s", "ok"), "{\"s\":\"ok\",\"s\":\"no\"}", "its field \"s\" is \"no\", not \"ok\"");
    judge(field("/s", "ok"), "{\"s\":\"ok\",\"s\":\"no\"}",
          "its field \"/s\" is \"no\", not \"ok\"");
}

static void what_is_no_json_has_no_field(void)
{
    judge(field("s", "1"), "<html>", "its body is no JSON: it begins with \"<html>\"");
    judge(field("s", "1"), "{\"s\":1}{", "its body is no JSON: it begins with \"{\"s\":1}{\"");
    judge(field("s", "1"), "{\"s\":1,\"t\":\"\xff\"}",
          "its body is no JSON: it begins with \"{\"s\":1,\"t\":\"\xff\"}\"");
    judge(field("s", "1"), "", "without a body");
    judge_bytes(field("s", "1"), STR("{\"s\":1,\"t"), true,
                "what was read of its body is no whole JSON: it begins with \"{\"s\":1,\"t\"");
    judge_bytes(field("s", "1"), STR("{\"s\":1}"), true, /* whatever followed */
                "what was read of its body is no whole JSON: it begins with \"{\"s\":1}\"");
}

/* What a debug member holds, or a text that was cut in the middle of an emoji. */
static void other_members_may_hold_what_json_allows(void)
{
    judge(field("s", "ok"), "{\"s\":\"ok\",\"m\":\"\\ud83d\",\"\\ud83d\":1}", NULL);
    judge(field("s", "ok"), "{\"m\":\"a\\u0000b\",\"s\":\"ok\"}", NULL);
    judge(field("s", "\xef\xbf\xbd"), "{\"s\":\"\\ufffd\"}", NULL);
    judge(field("s", "\xef\xbf\xbd"), "{\"s\":\"\\ud83d\"}",
          "its field \"s\" has a value that cannot be compared: a lone surrogate is not allowed");
    judge(field("s", "a"), "{\"s\":\"\\u0000\"}",
          "its field \"s\" has a value that cannot be compared: U+0000 is not allowed");
}

static void other_members_may_be_nested_deeply(void)
{
    for (int depth = 16; depth <= LIMIT_JSON_DEPTH_OF_ANSWER; depth++) {
        struct buf text = {0}, why = {0};
        struct success_answer s = field("s", "ok");
        buf_add_c(&text, "{\"m\":");
        for (int i = 0; i < depth; i++)
            buf_add_char(&text, '[');
        for (int i = 0; i < depth; i++)
            buf_add_char(&text, ']');
        buf_add_c(&text, ",\"s\":\"ok\"}");
        CHECK_EQ_INT(success_answer_judge(&s, buf_str(&text), false, &why),
                     depth + 1 <= LIMIT_JSON_DEPTH_OF_ANSWER);
        buf_free(&why);
        buf_free(&text);
    }
}

static void long_texts_are_cut_in_the_sentence(void)
{
    char text[201] = "";
    memset(text, 'x', sizeof text - 1);
    struct buf why = {0};
    struct success_answer s = body(text);
    CHECK(!success_answer_judge(&s, STR("\xc3\xbc"), false, &why));
    CHECK(why.n < 120);
    buf_free(&why);
}

static void settings_that_match_nothing_are_told(void)
{
    static const struct {
        const char *field;
        bool valid;
    } rows[] = {{"a", true},    {"~", true},     {"/", true},   {"/~0", true},
                {"/~1a", true}, {"/a~2", false}, {"/~", false}, {"/a~/", false}};
    const char *why = NULL;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_EQ_INT(success_field_valid(str_of(rows[i].field), &why), rows[i].valid);
    CHECK(success_text_valid(STR(" x "), &why));
    CHECK(!success_text_valid(STR(" \n\t"), &why));
}

int main(void)
{
    RUN(any_2xx_is_one);
    RUN(a_body_is_the_text_but_for_white_space_around_it);
    RUN(a_part_may_stand_anywhere);
    RUN(a_field_is_named_or_pointed_to);
    RUN(a_value_is_its_text);
    RUN(of_members_of_one_name_the_last_counts);
    RUN(what_is_no_json_has_no_field);
    RUN(other_members_may_hold_what_json_allows);
    RUN(other_members_may_be_nested_deeply);
    RUN(long_texts_are_cut_in_the_sentence);
    RUN(settings_that_match_nothing_are_told);
    return check_done("success_answer");
}
