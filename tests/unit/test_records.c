/* Files of records in both forms, and the sentence for each way a file can be wrong. */
#include "cli/records.h"

#include "check.h"

static bool read_text(const char *text, struct records *r, struct str *why)
{
    FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    *r = (struct records){0};
    bool good = records_read(r, f, why);
    fclose(f);
    return good;
}

static void check_refused(const char *text, const char *want)
{
    struct records r;
    struct str why;
    CHECK(!read_text(text, &r, &why));
    CHECK_STR(why, want);
    records_free(&r);
}

static void callbacks_as_they_came_are_records(void)
{
    struct records r;
    struct str why;
    REQUIRE(
        read_text("{\"RewardId\":\"b\",\"Reward\":72.50,\"RevenueAmount\":\"0.35\",\"Sig\":\"x\"}\n"
                  "\n"
                  "{\"RewardId\":\"t\",\"Reward\":1,\"IsTest\":true}\r\n"
                  "{\"Reward\":-1e-06,\"RewardId\":\"a\"}",
                  &r, &why));
    CHECK_EQ_UINT(r.count, 2);
    const struct input_record *b = records_find(&r, STR("b")), *a = records_find(&r, STR("a"));
    REQUIRE(a && b);
    CHECK_EQ_INT(b->reward_micros, 72500000);
    CHECK_EQ_INT(b->revenue_micros, 350000);
    CHECK(b->has_revenue && !a->has_revenue);
    CHECK_EQ_INT(a->reward_micros, -1);
    CHECK_EQ_INT(a->line, 4);
    CHECK(!records_find(&r, STR("t")) && !records_find(&r, STR("")) && !records_find(&r, STR("c")));
    records_free(&r);
}

static void csv_is_read_by_the_names_of_its_columns(void)
{
    struct records r;
    struct str why;
    REQUIRE(read_text("\xef\xbb\xbf\"Note\",Reward,\"RewardId\",RevenueAmount\r\n"
                      "\"a \"\"b\"\", c\",72,r-1,0.35\r\n"
                      ",\"1.50\", r-2 ,\r\n"
                      "x,2,r-1\n",
                      &r, &why));
    CHECK_EQ_UINT(r.count, 3);
    const struct input_record *first = records_find(&r, STR("r-1"));
    REQUIRE(first);
    CHECK(first->reward_micros == 72000000 && first->revenue_micros == 350000 && first->line == 2);
    CHECK(str_is(first[1].reward_id, "r-1") && first[1].line == 4 && !first[1].has_revenue);
    CHECK(str_is(first[2].reward_id, "r-2") && first[2].reward_micros == 1500000);
    records_free(&r);
}

static void a_quoted_field_of_csv_may_have_line_ends(void)
{
    struct records r;
    struct str why;
    REQUIRE(read_text("\"The\nnote\",Reward,RewardId\r\n"
                      "\"two\r\n\r\n\"\"lines\"\"\r\n\",1,a\r\n"
                      "5\" disc,2,b\n"
                      "\"\",3,\"c\"\n",
                      &r, &why));
    CHECK_EQ_UINT(r.count, 3);
    const struct input_record *a = records_find(&r, STR("a")), *b = records_find(&r, STR("b")),
                              *c = records_find(&r, STR("c"));
    REQUIRE(a && b && c);
    CHECK(a->reward_micros == 1000000 && a->line == 3);
    CHECK(b->reward_micros == 2000000 && b->line == 7);
    CHECK(c->reward_micros == 3000000 && c->line == 8);
    records_free(&r);
}

static void columns_that_are_not_read_may_stand_twice(void)
{
    struct records r;
    struct str why;
    REQUIRE(read_text("Note,Reward,RewardId,Note\nx,1,a,y\n", &r, &why));
    CHECK_EQ_UINT(r.count, 1);
    records_free(&r);
}

static void a_header_alone_has_no_records(void)
{
    struct records r;
    struct str why;
    REQUIRE(read_text("RewardId,Reward\n", &r, &why));
    CHECK_EQ_UINT(r.count, 0);
    CHECK(!records_find(&r, STR("a")));
    records_free(&r);
}

static void an_empty_file_is_refused(void)
{
    static const char *const files[] = {"\n", "\xef\xbb\xbf", "\r\r", " \n\r\n"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        check_refused(files[i], "the file is empty. If you recorded nothing that day, write the "
                                "header line of a CSV file: RewardId,Reward");
}

static void lines_that_end_with_cr_alone_are_refused(void)
{
    static const char why[] =
        "line 1: a carriage return within a line: save the file with LF or CRLF line ends.";
    check_refused("RewardId,Reward\ra,1\rb,2\r", why);
    check_refused("RewardId,Reward,RevenueAmount\ra,1,1\r", why);
    check_refused("RewardId,\"Reward\"\ra,1\r", why);
    check_refused("RewardId,Reward,Note\ra,1,\"x\ny\"\r", why);
    check_refused("RewardId,Reward\na\r,1\n",
                  "line 2: a carriage return within a line: save the file with LF or CRLF line "
                  "ends.");
    check_refused("{\"RewardId\":\"a\",\"Reward\":1}\r{\"RewardId\":\"b\",\"Reward\":1}\r",
                  "line 1: no valid JSON: something follows the value at byte 28");
    struct records r;
    struct str unused;
    REQUIRE(read_text("RewardId,Note,Reward\r\r\na,\"x\ry\",1\r\n", &r, &unused));
    CHECK_EQ_UINT(r.count, 1); /* a quoted field may have one */
    records_free(&r);
}

static void what_is_wrong_is_said_with_its_line(void)
{
    check_refused("{\"RewardId\":\"a\"}\n", "line 1: Reward is missing.");
    check_refused("{\"Reward\":1}\n", "line 1: RewardId is missing.");
    check_refused("{\"RewardId\":\"a\",\"Reward\":\"0.0000001\"}\n",
                  "line 1: Reward is not an amount of at most 6 fractional digits: 0.0000001");
    check_refused("RewardId,Reward\na,1\nb,one\n",
                  "line 3: Reward is not an amount of at most 6 fractional digits: one");
    check_refused("Id,Reward\n",
                  "line 1: the first line of a CSV file must name the columns RewardId and Reward "
                  "(RevenueAmount may be another).");
    check_refused("RewardId,Reward,RewardId\na,1,b\n",
                  "line 1: the column RewardId is given twice; give it once.");
    check_refused("Note,Reward,RewardId,Note,\"Reward\"\n",
                  "line 1: the column Reward is given twice; give it once.");
    check_refused("RewardId,Reward\n\"a,1\n", "line 2: a quote is not closed.");
    check_refused("RewardId,Reward\n\"a\"b,1\n", "line 2: text behind a closing quote.");
    check_refused("Note,RewardId,Reward\n\"x\ny\",a,1\nz,b,one\n",
                  "line 4: Reward is not an amount of at most 6 fractional digits: one");
}

int main(void)
{
    RUN(callbacks_as_they_came_are_records);
    RUN(csv_is_read_by_the_names_of_its_columns);
    RUN(a_quoted_field_of_csv_may_have_line_ends);
    RUN(columns_that_are_not_read_may_stand_twice);
    RUN(a_header_alone_has_no_records);
    RUN(an_empty_file_is_refused);
    RUN(lines_that_end_with_cr_alone_are_refused);
    RUN(what_is_wrong_is_said_with_its_line);
    return check_done("records");
}
