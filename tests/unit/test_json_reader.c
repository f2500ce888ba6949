/*
 * The JSON reader: what RFC 8259 allows is read exactly, everything else is refused wherever it
 * stands, and nothing outside the text is touched.
 */
#include "check.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/limits.h"
#include "json/reader.h"

#include <stdlib.h>
#include <sys/mman.h>

static struct arena arena;
static struct str why;

static const struct json *parse(struct str text)
{
    struct json *value = NULL;
    why = STR_NONE;
    return json_parse(&arena, text, &value, &why) ? value : NULL;
}

static const struct json *read_c(const char *text)
{
    return parse(str_of(text));
}

static void reads_every_type(void)
{
    const struct json *v =
        read_c(" { \"a\" : [ 1 , true,false,null , \"x\" , {} , [] ] , \"b\":-0.5e+3 } \r\n");
    REQUIRE(v && v->type == JSON_OBJECT);
    CHECK_EQ_INT(v->count, 2);
    const struct json *a = json_member(v, "a");
    REQUIRE(a && a->type == JSON_ARRAY);
    CHECK_EQ_INT(a->count, 7);
    static const enum json_type types[] = {JSON_NUMBER, JSON_TRUE,   JSON_FALSE, JSON_NULL,
                                           JSON_STRING, JSON_OBJECT, JSON_ARRAY};
    int i = 0;
    for (const struct json *e = a->first; e; e = e->next, i++)
        CHECK_EQ_INT(e->type, types[i]);
    CHECK_EQ_INT(i, 7);
    CHECK_STR(a->first->text, "1");
    CHECK_STR(json_member(v, "b")->text, "-0.5e+3");
    CHECK(json_member(v, "c") == NULL);
    CHECK(json_member(a, "a") == NULL);
}

static void reads_bare_values(void)
{
    CHECK_STR(read_c("\"\"")->text, "");
    CHECK_STR(read_c(" 17 ")->text, "17");
    CHECK_EQ_INT(read_c("null")->type, JSON_NULL);
    CHECK_EQ_INT(read_c("\ttrue\n")->type, JSON_TRUE);
    CHECK_EQ_INT(read_c("[]")->count, 0);
}

static void numbers_keep_their_text(void)
{
    static const char *const good[] = {
        "0",      "-0",  "1.10", "0.1000", "1E400", "5e-06", "123456789012345678901234567890",
        "-0.0e0", "1e+2"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        const struct json *v = read_c(good[i]);
        REQUIRE(v);
        CHECK_EQ_INT(v->type, JSON_NUMBER);
        CHECK_STR(v->text, good[i]);
    }
}

static const char *const malformed[] = {
    /* numbers */
    "01",
    "-",
    "-01",
    "+1",
    ".5",
    "1.",
    "1.e3",
    "1e",
    "1e+",
    "0x10",
    "1_000",
    "NaN",
    "-NaN",
    "Infinity",
    "-Infinity",
    "1 2",
    "--1",
    "1.2.3",
    "1e2.5",
    "1-2",
    "1+2",
    "0e",
    "00",
    "- 1",
    "1a",
    "12\"",
    "1\\u0031",
    "\xef\xbc\x91",
    /* words */
    "tru",
    "truex",
    "True",
    "nul",
    "nullnull",
    "true false",
    "falsee",
    "undefined",
    "t",
    "a",
    "*",
    "'a'",
    "\xc3\xa9",
    /* arrays */
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[,]",
    "[1 2]",
    "[1,,2]",
    "[1}",
    "[1]]",
    "[[1]",
    "[\"a\" 1]",
    "[1:2]",
    "[\"a\",\n4\n,1,",
    "[a",
    "[1]x",
    "[1],",
    "[1][2]",
    "[1]\"a\"",
    "[\"a\"\"b\"]",
    "[truefalse]",
    "[1true]",
    "[\"a\"x]",
    "[x\"a\"]",
    "[1\"a\"]",
    "[{}{}]",
    "[1 /* c */]",
    "[1] // c",
    /* objects */
    "{",
    "}",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{,\"a\":1}",
    "{1:1}",
    "{a:1}",
    "{'a':1}",
    "{\"a\" 1}",
    "{\"a\"::1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\":1;\"b\":2}",
    "{\"a\",1}",
    "{\"a\":1]",
    "{\"a\"}",
    "{:1}",
    "{\"a\":}",
    "{\"a\":1}}",
    "{\"a\":1}x",
    "{\"a\":1,,\"b\":2}",
    "{null:1}",
    "{\"a\":\"b\" \"c\"}",
    "{\"a\"x:1}",
    "{\"a\":1,\"b\"}",
    "{\"x\"::\"b\"}",
    "{[1]:2}",
    "{\"a\":1}#",
    /* strings */
    "\"",
    "\"a",
    "\"\\\"",
    "\"\\x41\"",
    "\"\\a\"",
    "\"\\'\"",
    "\"\\U0041\"",
    "\"\\u004\"",
    "\"\\u004g\"",
    "\"\\u\"",
    "\"\\u0\"",
    "\"\\u+041\"",
    "\"\\u 041\"",
    "\"a\nb\"",
    "\"\t\"",
    "\"\x1f\"",
    "\"a\"b",
    "\"a\"\"b\"",
    "\\u0022a\"",
    "\"\\",
    "[\"\\\"]",
    "\"\\\xc3\xa9\"",
    /* U+0000 and lone surrogates */
    "\"\\u0000\"",
    "\"a\\u0000b\"",
    "{\"\\u0000\":1}",
    "\"\\ud800\"",
    "\"\\udc00\"",
    "\"\\ud800\\ud800\"",
    "\"\\ud800\\u0041\"",
    "\"\\udc00\\ud800\"",
    "\"\\ud800x\"",
    "\"\\ud800\\n\"",
    "\"\\ud800\\u\"",
    "\"\\uDBFF\\uE000\"",
    "{\"\\ud83d\":1}",
    "\"\\ud800\\udc0\"",
    /* UTF-8 */
    "\"\xff\"",
    "\"\xc3\"",
    "\"\xc0\xaf\"",
    "\"\xed\xa0\x80\"",
    "\"\xf4\x90\x80\x80\"",
    "\"\xe0\x80\xaf\"",
    "\"\x80\"",
    "\"\xf8\x88\x80\x80\x80\"",
    "{\"\xfe\":1}",
    /* around the value */
    "",
    " ",
    "\n\t ",
    "\xef\xbb\xbf{}",
    "\xef\xbb\xbf",
    "1,",
    ",1",
    ":",
    ",",
    "\f1",
    "\v1",
    "\xc2\xa0 1",
    "{}\xe2\x80\xa8",
    "\xe2\x81\xa0[]",
};

static void malformed_is_refused(void)
{
    for (size_t i = 0; i < ARRAY_LEN(malformed); i++) {
        if (!CHECK(read_c(malformed[i]) == NULL))
            printf("    was read: %s\n", malformed[i]);
        CHECK(why.n > 0);
    }
}

static void a_byte_order_mark_is_named(void)
{
    CHECK(read_c("\xef\xbb\xbf{}") == NULL);
    CHECK_STR(why, "the text begins with a byte order mark (EF BB BF), which JSON does not have: "
                   "leave these 3 bytes out");
    CHECK(read_c("\"\xef\xbb\xbf\"") != NULL); /* within a string it is a character */
}

/* The same faults deep inside, where a lazy reader would never look. */
static void malformed_is_refused_inside(void)
{
    static const char *const bad[] = {"01",      "tru",  "1.",          "\"\\ud800\"",
                                      "\"\\x\"", "[1,]", "{\"a\"}",     "{\"a\":1,}",
                                      "-",       "nulL", "\"\\u0000\"", "+1"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct buf text = {0};
        buf_printf(&text, "{\"first\":[1,{\"deep\":[null,%s]}],\"last\":true}", bad[i]);
        CHECK(parse(buf_str(&text)) == NULL);
        buf_free(&text);
    }
}

static void nul_bytes_are_refused(void)
{
    static const struct str bad[] = {STR("\0"),
                                     STR("1\0"),
                                     STR("\0"
                                         "1"),
                                     STR("[1\0]"),
                                     STR("\"a\0b\""),
                                     STR("{}\0"),
                                     STR("[\0]")};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(parse(bad[i]) == NULL);
}

static void strings_are_unescaped(void)
{
    static const struct {
        const char *json, *value;
    } cases[] = {
        {"\"plain text of more than eight bytes\"", "plain text of more than eight bytes"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac"},
        {"\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!"},
        {"\"\\uDBFF\\uDFFF\"", "\xf4\x8f\xbf\xbf"},
        {"\"\\u0001\\u001f\\u007f\"", "\x01\x1f\x7f"},
        {"\"12345678\\n12345678\\\"\"", "12345678\n12345678\""},
        {"\"\\\\u0000\"", "\\u0000"},
        {"\"\\\\\\\\\"", "\\\\"},
        {"\"\xc3\xbc/\xf0\x9f\x98\x80\"", "\xc3\xbc/\xf0\x9f\x98\x80"},
        {"\"\xef\xbf\xbf\"", "\xef\xbf\xbf"},
        {"\"{[,:]}\"", "{[,:]}"},
        {"\"\\\"}\"", "\"}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct json *v = read_c(cases[i].json);
        REQUIRE(v);
        CHECK_STR(v->text, cases[i].value);
    }
}

static void members_keep_order_and_repeats(void)
{
    const struct json *v = read_c("{\"b\":1,\"a\":2,\"b\":3,\"\\u0061\":4}");
    REQUIRE(v);
    CHECK_EQ_INT(v->count, 4);
    CHECK_STR(v->first->name, "b");
    CHECK_STR(v->first->next->next->text, "3");
    CHECK_STR(json_member(v, "b")->text, "1");
    CHECK_STR(json_repeated_member(v), "a"); /* written in two ways, the same name */
    CHECK(json_repeated_member(read_c("{\"a\":1,\"A\":2,\"aa\":3,\"\":4}")).p == NULL);
    CHECK(json_repeated_member(read_c("{}")).p == NULL);
    CHECK(json_repeated_member(read_c("[1,1]")).p == NULL);
    CHECK_STR(json_repeated_member(read_c("{\"\":1,\"\":2}")), "");
}

static void depth_is_bounded(void)
{
    for (int depth = LIMIT_JSON_DEPTH - 1; depth <= LIMIT_JSON_DEPTH + 1; depth++) {
        struct buf text = {0};
        for (int i = 0; i < depth; i++)
            buf_add_c(&text, i % 2 ? "{\"a\":" : "[");
        buf_add_char(&text, '1');
        for (int i = depth; i > 0; i--)
            buf_add_char(&text, (i - 1) % 2 ? '}' : ']');
        CHECK((parse(buf_str(&text)) != NULL) == (depth <= LIMIT_JSON_DEPTH));
        buf_free(&text);
    }
    struct buf deep = {0};
    for (int i = 0; i < 1000000; i++)
        buf_add_char(&deep, '[');
    CHECK(parse(buf_str(&deep)) == NULL);
    CHECK_STR(why, "nested more than 16 levels deep at byte 16");
    buf_free(&deep);
}

static void says_where(void)
{
    CHECK(read_c("{\"a\":tru}") == NULL);
    CHECK_STR(why, "not a JSON value at byte 5");
    CHECK(read_c("[\"abc\\x\"]") == NULL);
    CHECK_STR(why, "an unknown escape at byte 5");
    CHECK(read_c("[\"ab\tc\"]") == NULL);
    CHECK_STR(why, "a control character in a string is not escaped at byte 4");
    CHECK(read_c("[\"ab\\n") == NULL);
    CHECK_STR(why, "a string is not closed at byte 6");
    CHECK(read_c("\xff") == NULL);
    CHECK_STR(why, "the text is not valid UTF-8");
    CHECK(read_c(" ") == NULL);
    CHECK_STR(why, "there is no JSON value");
}

/* A text that ends at the last byte of a mapped page, in every length around the
 * widths that are read at once: a read beyond it ends the test program. */
static void reads_nothing_beyond_the_end(void)
{
    const size_t page = 4096;
    char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(map != MAP_FAILED);
    REQUIRE(mprotect(map + page, page, PROT_NONE) == 0);
    for (size_t n = 2; n < 300; n++) {
        char *text = map + page - n;
        memset(text, 'a', n);
        text[0] = text[n - 1] = '"';
        const struct json *v = parse((struct str){text, n});
        CHECK(v && v->text.n == n - 2);
        text[n - 1] = 'a'; /* not closed */
        CHECK(parse((struct str){text, n}) == NULL);
        memset(text, '1', n);
        v = parse((struct str){text, n});
        CHECK(v && v->text.n == n);
    }
    munmap(map, 2 * page);
}

/* Large texts after small ones and the other way round: buffers grow and are given back. */
static void sizes_may_change(void)
{
    for (int round = 0; round < 3; round++) {
        for (size_t n = 1; n <= 4 * LIMIT_JSON_VALUES; n *= 12) {
            struct buf text = {0};
            buf_add_char(&text, '[');
            for (size_t i = 0; i < n; i += 4)
                buf_add_c(&text, i ? ",7 " : "7");
            buf_add_char(&text, ']');
            const struct json *v = parse(buf_str(&text));
            CHECK(v && v->count == (n + 3) / 4);
            buf_free(&text);
        }
    }
}

/* [1,1,...] has a value for each two bytes, and each takes 88 in memory. */
static void values_are_bounded(void)
{
    for (size_t more = 0; more < 2; more++) {
        struct buf text = {0};
        buf_add_c(&text, "[1");
        for (size_t i = 1; i < LIMIT_JSON_VALUES + more; i++)
            buf_add_c(&text, ",1");
        buf_add_char(&text, ']');
        struct json *v;
        CHECK_EQ_INT(json_parse(&arena, buf_str(&text), &v, &why), more == 0);
        if (more)
            CHECK(str_has_prefix(why, "there are more than 320000 values"));
        buf_free(&text);
        arena_free(&arena);
    }
}

int main(void)
{
    RUN(reads_every_type);
    RUN(reads_bare_values);
    RUN(numbers_keep_their_text);
    RUN(malformed_is_refused);
    RUN(a_byte_order_mark_is_named);
    RUN(malformed_is_refused_inside);
    RUN(nul_bytes_are_refused);
    RUN(strings_are_unescaped);
    RUN(members_keep_order_and_repeats);
    RUN(depth_is_bounded);
    RUN(says_where);
    RUN(reads_nothing_beyond_the_end);
    RUN(sizes_may_change);
    RUN(values_are_bounded);
    arena_free(&arena);
    return check_done("json_reader");
}
