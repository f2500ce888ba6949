/* A text of others stays within its line, and what is no danger to it is left as it is. */
#include "check.h"

#include "base/plain_text.h"

static void check_printed(const char *from, size_t n, const char *want)
{
    struct buf to = {0};
    buf_add_c(&to, "Name: ");
    plain_text_print(&to, (struct str){from, n});
    buf_add_c(&to, "|");
    CHECK_STR(buf_str(&to), want);
    buf_free(&to);
}

#define CHECK_PRINTED(from, want) check_printed(from, sizeof from - 1, "Name: " want "|")

static void harmless_text_is_unchanged(void)
{
    CHECK_PRINTED("", "");
    CHECK_PRINTED("Acme (Games) & <Co>", "Acme (Games) & <Co>");
    CHECK_PRINTED("B\u00fccher \u20ac \u65e5\u672c \U0001F600",
                  "B\u00fccher \u20ac \u65e5\u672c \U0001F600");
    CHECK_PRINTED("\u05e9\u05dc\u05d5\u05dd",
                  "\u05e9\u05dc\u05d5\u05dd"); /* right to left by itself */
    CHECK_PRINTED("~\u00a0\u061b\u061d\u200d\u2010\u2027\u202f\u2065\u206a",
                  "~\u00a0\u061b\u061d\u200d\u2010\u2027\u202f\u2065\u206a"); /* the neighbours */
}

static void what_ends_a_line_is_a_space(void)
{
    CHECK_PRINTED("a\nb\rc\r\nd\te\0f\x1b[1m\x7fg", "a b c  d e f [1m g");
    CHECK_PRINTED("a\xc2\x80"
                  "b\xc2\x85"
                  "c\xc2\x9f"
                  "d",
                  "a b c d");
    CHECK_PRINTED("a\u2028b\u2029c", "a b c");
}

static void what_sets_a_direction_is_a_space(void)
{
    CHECK_PRINTED("\u202a\u202b\u202c\u202d\u202e|\u2066\u2067\u2068\u2069|\u200e\u200f\u061c",
                  "     |    |   ");
}

static void what_is_no_utf8_is_a_space(void)
{
    CHECK_PRINTED("a\xff"
                  "b\xe2\x80",
                  "a b  ");
    CHECK_PRINTED("\xc0\x8a", "  "); /* a line feed, overlong */
}

int main(void)
{
    RUN(harmless_text_is_unchanged);
    RUN(what_ends_a_line_is_a_space);
    RUN(what_sets_a_direction_is_a_space);
    RUN(what_is_no_utf8_is_a_space);
    return check_done("plain_text");
}
