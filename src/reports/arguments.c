/* Checks the arguments of a report. */
#include "domain/clock.h"
#include "domain/negotiate.h"
#include "reports/report.h"

const char *report_kind_name(enum report_kind kind)
{
    static const char *const names[] = {"earnings", "arpdau", "survey-attempts", "conversions",
                                        "active-panelist"};
    return names[kind];
}

static bool parse_day(struct problems *problems, const char *name, struct str text, int32_t *ret)
{
    if (!text.p)
        return false;
    if (clock_parse_day(text, ret))
        return true;
    problem_add(problems, str_of(name), "invalid", "A day as YYYY-MM-DD, such as 2026-11-20.");
    return false;
}

static void parse_days(const struct report_arguments *a, int32_t today, struct problems *problems,
                       struct report_request *ret)
{
    size_t before = problems->count;
    int32_t first = 0, last = 0;
    bool has_first = parse_day(problems, "startDate", a->start_date, &first);
    bool has_last = parse_day(problems, "endDate", a->end_date, &last);
    if (problems->count != before)
        return;
    if (!has_last)
        last = today;
    if (!has_first)
        first = last - (REPORT_DAYS_DEFAULT - 1);
    if (first < CLOCK_FIRST_DAY) /* there are fewer than 30 days up to `last` */
        first = CLOCK_FIRST_DAY;
    ret->first_day = first;
    ret->last_day = last;
    if (first > last)
        problem_add(problems, STR("startDate"), "invalid", "startDate is after endDate%s.",
                    has_last ? "" : " (today, where it is not given)");
    else if (last - first >= REPORT_DAYS_MAX)
        problem_add(problems, STR("startDate"), "out_of_range",
                    "The range has %d days; ask for at most %d at a time.", last - first + 1,
                    REPORT_DAYS_MAX);
}

static void parse_product(const struct report_arguments *a, struct problems *problems,
                          struct report_request *ret)
{
    ret->survey = ret->offer = true;
    if (!a->product_type.p)
        return;
    if (ret->kind != REPORT_EARNINGS && ret->kind != REPORT_ARPDAU &&
        ret->kind != REPORT_CONVERSIONS)
        problem_add(problems, STR("productType"), "invalid",
                    "productType is for the earnings, arpdau and conversions reports only.");
    else if (str_is(a->product_type, "survey"))
        ret->offer = false;
    else if (str_is(a->product_type, "offer"))
        ret->survey = false;
    else
        problem_add(problems, STR("productType"), "invalid", "survey or offer.");
}

void report_parse(enum report_kind kind, const struct report_arguments *a, int32_t today,
                  struct problems *problems, struct report_request *ret)
{
    *ret = (struct report_request){.kind = kind};
    parse_days(a, today, problems, ret);
    parse_product(a, problems, ret);
    if (str_is(a->format, "csv"))
        ret->csv = true;
    else if (a->format.p && !str_is(a->format, "json"))
        problem_add(problems, STR("format"), "invalid", "json or csv.");
    else if (!a->format.p)
        ret->csv = accept_prefers(a->accept, "text/csv", "application/json");
    ret->include_test = str_is(a->include_test, "true");
    if (a->include_test.p && !ret->include_test && !str_is(a->include_test, "false"))
        problem_add(problems, STR("includeTest"), "invalid", "true or false.");
}
