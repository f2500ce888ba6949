/* What may be asked of a report: defaults, limits, and each thing that may not. */
#include "domain/clock.h"
#include "reports/report.h"

#include "check.h"

static const int32_t today = 20000;

static int parse(enum report_kind kind, struct report_arguments a, struct report_request *ret)
{
    struct arena arena = {0};
    struct problems problems = {.arena = &arena};
    report_parse(kind, &a, today, &problems, ret);
    int count = (int)problems.count;
    arena_free(&arena);
    return count;
}

static struct str day(int32_t number)
{
    static char texts[4][16];
    static int turn;
    char *text = texts[turn++ % 4];
    struct buf b = {0};
    clock_print_day(&b, number);
    memcpy(text, b.p, b.n);
    struct str s = {text, b.n};
    buf_free(&b);
    return s;
}

static void defaults_to_thirty_days_up_to_today(void)
{
    struct report_request r;
    CHECK_EQ_INT(parse(REPORT_EARNINGS, (struct report_arguments){0}, &r), 0);
    CHECK_EQ_INT(r.first_day, today - 29);
    CHECK_EQ_INT(r.last_day, today);
    CHECK(r.survey && r.offer && !r.csv && !r.include_test);
}

static void one_end_alone_gives_the_other(void)
{
    struct report_request r;
    CHECK_EQ_INT(
        parse(REPORT_EARNINGS, (struct report_arguments){.start_date = day(today - 5)}, &r), 0);
    CHECK_EQ_INT(r.last_day, today);
    CHECK_EQ_INT(parse(REPORT_EARNINGS, (struct report_arguments){.end_date = day(today - 5)}, &r),
                 0);
    CHECK_EQ_INT(r.first_day, today - 34);
}

static void takes_at_most_366_days(void)
{
    struct report_request r;
    struct report_arguments a = {.start_date = day(today - 365), .end_date = day(today)};
    CHECK_EQ_INT(parse(REPORT_EARNINGS, a, &r), 0);
    a.start_date = day(today - 366);
    CHECK_EQ_INT(parse(REPORT_EARNINGS, a, &r), 1);
}

static void refuses_what_makes_no_sense(void)
{
    struct report_request r;
    CHECK_EQ_INT(
        parse(REPORT_EARNINGS, (struct report_arguments){.start_date = day(today + 1)}, &r), 1);
    CHECK_EQ_INT(
        parse(REPORT_EARNINGS, (struct report_arguments){.start_date = STR("2026-2-1")}, &r), 1);
    CHECK_EQ_INT(parse(REPORT_EARNINGS, (struct report_arguments){.format = STR("xml")}, &r), 1);
    CHECK_EQ_INT(parse(REPORT_EARNINGS, (struct report_arguments){.include_test = STR("1")}, &r),
                 1);
    CHECK_EQ_INT(parse(REPORT_EARNINGS, (struct report_arguments){.product_type = STR("all")}, &r),
                 1);
    CHECK_EQ_INT(
        parse(REPORT_SURVEY_ATTEMPTS, (struct report_arguments){.product_type = STR("survey")}, &r),
        1);
    CHECK_EQ_INT(parse(REPORT_EARNINGS,
                       (struct report_arguments){.format = STR("xml"), .include_test = STR("x")},
                       &r),
                 2);
}

static void chooses_the_format(void)
{
    struct report_request r;
    CHECK_EQ_INT(parse(REPORT_EARNINGS, (struct report_arguments){.accept = STR("text/csv")}, &r),
                 0);
    CHECK(r.csv);
    CHECK_EQ_INT(parse(REPORT_EARNINGS,
                       (struct report_arguments){.accept = STR("text/html, text/csv;q=0.5")}, &r),
                 0);
    CHECK(r.csv);
    CHECK_EQ_INT(
        parse(REPORT_EARNINGS, (struct report_arguments){.accept = STR("text/csv;q=0, */*")}, &r),
        0);
    CHECK(!r.csv);
    struct report_arguments less = {.accept = STR("text/csv;q=0.1, application/json")};
    CHECK_EQ_INT(parse(REPORT_EARNINGS, less, &r), 0);
    CHECK(!r.csv);
    struct report_arguments both = {.accept = STR("text/csv"), .format = STR("json")};
    CHECK_EQ_INT(parse(REPORT_EARNINGS, both, &r), 0);
    CHECK(!r.csv);
}

int main(void)
{
    RUN(defaults_to_thirty_days_up_to_today);
    RUN(one_end_alone_gives_the_other);
    RUN(takes_at_most_366_days);
    RUN(refuses_what_makes_no_sense);
    RUN(chooses_the_format);
    return check_done("report_arguments");
}
