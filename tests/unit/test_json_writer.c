/*
 * The JSON writer: commas, escapes and nesting; what it writes, the reader reads back.
 */
#include "check.h"

#include "json/reader.h"
#include "json/writer.h"

static void places_commas(void)
{
    struct buf to = {0};
    struct json_writer w;
    json_write_to(&w, &to);
    json_object(&w);
    json_key(&w, "a");
    json_int(&w, -7);
    json_key(&w, "b");
    json_array(&w);
    json_bool(&w, true);
    json_bool(&w, false);
    json_null(&w);
    json_object(&w);
    json_end_object(&w);
    json_array(&w);
    json_end_array(&w);
    json_raw(&w, STR("{\"x\":1}"));
    json_end_array(&w);
    json_key(&w, "c");
    json_object(&w);
    json_key(&w, "d");
    json_c(&w, NULL);
    json_key(&w, "e");
    json_string(&w, STR_NONE);
    json_key(&w, "f");
    json_string(&w, STR(""));
    json_end_object(&w);
    json_key(&w, "g");
    json_int(&w, INT64_MIN);
    json_end_object(&w);
    CHECK_STR(to, "{\"a\":-7,\"b\":[true,false,null,{},[],{\"x\":1}],"
                  "\"c\":{\"d\":null,\"e\":null,\"f\":\"\"},\"g\":-9223372036854775808}");
    buf_free(&to);
}

static void escapes_only_what_must_be(void)
{
    struct buf to = {0};
    struct json_writer w;
    json_write_to(&w, &to);
    json_c(&w, "a/<\x7f\xc3\xbc\"\\\b\f\n\r\t\x01\x1f");
    CHECK_STR(to, "\"a/<\x7f\xc3\xbc\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\"");
    buf_free(&to);
}

static void what_is_not_utf8_stays_readable(void)
{
    static const char *const pairs[][2] = {
        {"\xff", "\xef\xbf\xbd"},
        {"a\xc3", "a\xef\xbf\xbd"},
        {"\xc3(", "\xef\xbf\xbd("},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe2\x82\xac\x80z", "\xe2\x82\xac\xef\xbf\xbdz"},
    };
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        struct buf to = {0};
        struct json_writer w;
        json_write_to(&w, &to);
        json_c(&w, pairs[i][0]);
        CHECK_EQ_UINT(to.n, strlen(pairs[i][1]) + 2);
        CHECK(memcmp(to.p + 1, pairs[i][1], to.n - 2) == 0);
        buf_free(&to);
    }
}

static void every_byte_comes_back(void)
{
    char all[0x80];
    size_t n = 0;
    for (int c = 1; c < 0x80; c++)
        all[n++] = (char)c;
    struct buf to = {0};
    struct json_writer w;
    json_write_to(&w, &to);
    json_string(&w, (struct str){all, n});
    struct arena arena = {0};
    struct json *v = NULL;
    struct str why;
    REQUIRE(json_parse(&arena, buf_str(&to), &v, &why));
    CHECK_BYTES(v->text.p, v->text.n, all, n);
    arena_free(&arena);
    buf_free(&to);
}

static void money_and_time(void)
{
    struct buf to = {0};
    struct json_writer w;
    json_write_to(&w, &to);
    json_array(&w);
    json_money(&w, 125000000, 2);
    json_money(&w, -12500, 2);
    json_money(&w, 72000000, 0);
    json_time(&w, 0);
    json_end_array(&w);
    CHECK_STR(to, "[125.00,-0.0125,72,\"1970-01-01T00:00:00.000Z\"]");
    buf_free(&to);
}

static void mistakes_abort(void)
{
    struct buf to = {0};
    struct json_writer w;
    json_write_to(&w, &to);
    CHECK_ABORTS(json_end_object(&w));
    CHECK_ABORTS(json_key(&w, "a"));
    CHECK_ABORTS(for (int i = 0; i < 33; i++) json_array(&w));
}

int main(void)
{
    RUN(places_commas);
    RUN(escapes_only_what_must_be);
    RUN(what_is_not_utf8_stays_readable);
    RUN(every_byte_comes_back);
    RUN(money_and_time);
    RUN(mistakes_abort);
    return check_done("json_writer");
}
