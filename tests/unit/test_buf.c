/*
 * The growing buffer, above all at the sizes where it has to grow.
 */
#include "check.h"

#include "base/buf.h"

#include <stdlib.h>

static void grows_at_every_size(void)
{
    for (size_t step = 1; step < 40; step++) {
        struct buf b = {0};
        char piece[40];
        for (size_t n = 0; n < 1000; n += step) {
            memset(piece, 'a' + (int)(n % 26), step);
            buf_add(&b, piece, step);
        }
        REQUIRE(b.n >= 1000);
        for (size_t at = 0; at < b.n; at++)
            if (b.p[at] != 'a' + (int)(at / step * step % 26))
                CHECK_EQ_INT(b.p[at], 'a' + (int)(at / step * step % 26));
        buf_free(&b);
    }
}

static void prints_whole_numbers(void)
{
    static const struct {
        int64_t number;
        const char *text;
    } cases[] = {{0, "0"},       {-1, "-1"},
                 {10, "10"},     {INT64_MAX, "9223372036854775807"},
                 {-999, "-999"}, {INT64_MIN, "-9223372036854775808"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b = {0};
        buf_add_int(&b, cases[i].number);
        CHECK_STR(buf_str(&b), cases[i].text);
        buf_free(&b);
    }
}

static void formats_what_is_longer_than_its_room(void)
{
    struct buf b = {0};
    buf_add_char(&b, '<');
    for (int i = 0; i < 5; i++)
        buf_printf(&b, "%0*d|", 50 * i + 1, i);
    CHECK_EQ_UINT(b.n, 1 + 5 + 50 * (1 + 2 + 3 + 4) + 5);
    CHECK_BYTES(b.p, 4, "<0|0", 4);
    CHECK_BYTES(b.p + b.n - 3, 3, "04|", 3);
    buf_free(&b);
}

static void prints_bytes_in_hex(void)
{
    struct buf b = {0};
    buf_add_hex(&b, "", 0);
    CHECK_EQ_UINT(b.n, 0);
    buf_add_char(&b, '<');
    buf_add_hex(&b, "\x00\x7f\x80\xff", 4);
    CHECK_STR(buf_str(&b), "<007f80ff");
    buf_free(&b);
}

static void lists_names(void)
{
    struct buf b = {0};
    buf_add_name(&b, STR("a"));
    CHECK_STR(buf_str(&b), "a");
    buf_add_name(&b, STR("b"));
    buf_add_name(&b, STR("c"));
    CHECK_STR(buf_str(&b), "a, b, c");
    buf_free(&b);
}

static void consume_moves_the_rest_down(void)
{
    struct buf b = {0};
    buf_add_c(&b, "GET / HTTP");
    buf_consume(&b, 4);
    CHECK_STR(buf_str(&b), "/ HTTP");
    buf_consume(&b, b.n);
    CHECK_STR(buf_str(&b), "");
    buf_free(&b);
}

static void as_text_it_ends_with_an_uncounted_nul(void)
{
    struct buf b = {0};
    CHECK_CSTR(buf_c(&b), "");
    for (size_t n = 1; n < 300; n++) {
        buf_add_char(&b, 'x');
        CHECK_EQ_UINT(strlen(buf_c(&b)), n);
        CHECK_EQ_UINT(b.n, n);
    }
    buf_free(&b);
    CHECK_STR(buf_str(&b), "");
}

static void prints_a_new_text_of_any_length(void)
{
    char *text = xprintf("%s", "");
    CHECK_CSTR(text, "");
    free(text);
    text = xprintf("%d|%0300d", 7, 1);
    CHECK_EQ_UINT(strlen(text), 302);
    CHECK(strncmp(text, "7|000", 5) == 0);
    free(text);
}

int main(void)
{
    RUN(grows_at_every_size);
    RUN(prints_whole_numbers);
    RUN(formats_what_is_longer_than_its_room);
    RUN(prints_bytes_in_hex);
    RUN(lists_names);
    RUN(consume_moves_the_rest_down);
    RUN(as_text_it_ends_with_an_uncounted_nul);
    RUN(prints_a_new_text_of_any_length);
    return check_done("buf");
}
