/* Times: every spelling that is allowed, days at UTC borders, leap years, HTTP dates. */
#include "domain/clock.h"

#include "check.h"

#include <time.h>

static int64_t at(const char *text)
{
    int64_t ms = INT64_MIN;
    if (!CHECK(clock_parse_rfc3339(str_of(text), &ms)))
        printf("    for \"%s\"\n", text);
    return ms;
}

static void check_printed(int64_t ms, const char *want)
{
    struct buf b = {0};
    clock_print(&b, ms);
    CHECK_STR(b, want);
    buf_free(&b);
}

static void reads_rfc3339(void)
{
    CHECK_EQ_INT(at("1970-01-01T00:00:00Z"), 0);
    CHECK_EQ_INT(at("2025-11-21T12:00:00Z"), 1763726400000);
    CHECK_EQ_INT(at("2025-11-21t12:00:00z"), 1763726400000);
    CHECK_EQ_INT(at("2025-11-21T12:00:00+00:00"), 1763726400000);
    CHECK_EQ_INT(at("2025-11-21T12:00:00-00:00"), 1763726400000);
    CHECK_EQ_INT(at("2025-11-21T17:30:00+05:30"), 1763726400000);
    CHECK_EQ_INT(at("2025-11-21T02:15:00-09:45"), 1763726400000);
    CHECK_EQ_INT(at("1969-12-31T23:59:59.999Z"), -1);
    CHECK_EQ_INT(at("1969-12-31T23:59:59Z"), -1000);
}

static void a_leap_second_is_the_last_millisecond_of_its_day(void)
{
    CHECK_EQ_INT(at("2016-12-31T23:59:60Z"), at("2016-12-31T23:59:59.999Z"));
    CHECK_EQ_INT(at("2016-12-31T23:59:60.75Z"), at("2016-12-31T23:59:59.999Z"));
    CHECK_EQ_INT(at("2016-12-31T15:59:60-08:00"), at("2016-12-31T23:59:59.999Z"));
}

static void cuts_to_the_millisecond(void)
{
    CHECK_EQ_INT(at("1970-01-01T00:00:00.5Z"), 500);
    CHECK_EQ_INT(at("1970-01-01T00:00:00.05Z"), 50);
    CHECK_EQ_INT(at("1970-01-01T00:00:00.0009Z"), 0);
    CHECK_EQ_INT(at("1970-01-01T00:00:00.123999999999999999999999Z"), 123);
    CHECK_EQ_INT(at("2026-11-20T23:59:59.9999999Z"), at("2026-11-20T23:59:59.999Z"));
}

static void refuses_other_times(void)
{
    static const char *const bad[] = {
        "",
        "2026-11-20",
        "2026-11-20T12:00:00", /* no offset */
        "2026-11-20 12:00:00Z",
        "2026-11-20T12:00Z",
        "2026-11-20T12:00:60Z", /* leap seconds end a UTC day */
        "2026-12-31T23:59:60-08:00",
        "2026-12-31T23:59:61Z",
        "2026-11-20T24:00:00Z",
        "2026-11-20T12:60:00Z",
        "2026-11-20T12:00:00.Z",
        "2026-11-20T12:00:00,5Z",
        "2026-11-20T12:00:00+0530",
        "2026-11-20T12:00:00+05",
        "2026-11-20T12:00:00+24:00",
        "2026-11-20T12:00:00+05:60",
        "2026-11-20T12:00:00ZZ",
        "2026-11-20T12:00:00Z ",
        " 2026-11-20T12:00:00Z",
        "2026-13-20T12:00:00Z",
        "2026-00-20T12:00:00Z",
        "2026-11-31T12:00:00Z",
        "2026-11-00T12:00:00Z",
        "2026-02-29T12:00:00Z",
        "1900-02-29T12:00:00Z",
        "26-11-20T12:00:00Z",
        "12026-11-20T12:00:00Z",
        "-026-11-20T12:00:00Z",
        "2026-11-2OT12:00:00Z",
        "0000-01-01T00:00:00+00:01", /* in UTC before the first year */
        "9999-12-31T23:59:59-00:01",
        "1763726400",
    };
    int64_t untouched = 42;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (!CHECK(!clock_parse_rfc3339(str_of(bad[i]), &untouched)))
            printf("    for \"%s\"\n", bad[i]);
    CHECK(!clock_parse_rfc3339(STR_NONE, &untouched));
    CHECK(!clock_parse_rfc3339((struct str){"2026-11-20T12:00:00Z\0", 21}, &untouched));
    CHECK_EQ_INT(untouched, 42);
}

static int32_t day(const char *text)
{
    int32_t d = INT32_MIN;
    CHECK(clock_parse_day(str_of(text), &d));
    return d;
}

static void the_day_is_the_utc_date(void)
{
    CHECK_EQ_INT(clock_day(at("2026-11-20T23:59:59.999Z")), day("2026-11-20"));
    CHECK_EQ_INT(clock_day(at("2026-11-21T00:00:00Z")), day("2026-11-21"));
    CHECK_EQ_INT(clock_day(at("2026-11-21T00:30:00+01:00")), day("2026-11-20"));
    CHECK_EQ_INT(clock_day(at("2026-11-20T23:30:00-01:00")), day("2026-11-21"));
    CHECK_EQ_INT(clock_day(at("2026-11-21T13:59:59.999+14:00")), day("2026-11-20"));
    CHECK_EQ_INT(clock_day(at("2026-11-20T12:00:00-12:00")), day("2026-11-21"));
    CHECK_EQ_INT(clock_day(at("2026-12-31T23:00:00-01:00")), day("2027-01-01"));
    CHECK_EQ_INT(clock_day(at("2028-03-01T00:00:00+00:01")), day("2028-02-29"));
    CHECK_EQ_INT(clock_month(day("2028-02-29")), day("2028-02-01"));
    CHECK_EQ_INT(clock_month(day("2027-01-01")), day("2027-01-01"));
    CHECK_EQ_INT(clock_month(-1), day("1969-12-01"));
    CHECK_EQ_INT(clock_day(-1), -1);
    CHECK_EQ_INT(clock_day(-DAY_MS), -1);
    CHECK_EQ_INT(clock_day(-DAY_MS - 1), -2);
    CHECK_EQ_INT(clock_day(0), 0);
    CHECK_EQ_INT(clock_day(DAY_MS - 1), 0);
}

static void reads_days_exactly(void)
{
    static const char *const bad[] = {
        "",         "2026-11-2",  "2026-11-200", "2026-1-20",  "2026/11/20",          "2026-11-20 ",
        "20261120", "2026-02-30", "2100-02-29",  "+026-11-20", "2026-11-20T00:00:00Z"};
    int32_t untouched = 42;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!clock_parse_day(str_of(bad[i]), &untouched));
    CHECK_EQ_INT(untouched, 42);
    CHECK_EQ_INT(day("1970-01-01"), 0);
    CHECK_EQ_INT(day("1969-12-31"), -1);
    CHECK_EQ_INT(day("2000-02-29"), 11016);
    CHECK_EQ_INT(day("2000-03-01"), 11017);
    CHECK_EQ_INT(day("2028-03-01") - day("2028-02-28"), 2);
    CHECK_EQ_INT(day("2100-03-01") - day("2100-02-28"), 1);
    CHECK_EQ_INT(day("0000-01-01"), -719528);
    CHECK_EQ_INT(day("9999-12-31"), 2932896);
}

/* Every day from the year 0 to 9999, against the C library. */
static void agrees_with_the_c_library(void)
{
    struct buf b = {0};
    bool same = true;
    for (int32_t d = -719528; d <= 2932896 && same; d++) {
        time_t seconds = (time_t)d * 86400;
        struct tm tm;
        char want[32];
        gmtime_r(&seconds, &tm);
        snprintf(want, sizeof want, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
        buf_clear(&b);
        clock_print_day(&b, d);
        int32_t back = INT32_MIN;
        same = b.n == 10 && memcmp(b.p, want, 10) == 0 && clock_parse_day(buf_str(&b), &back) &&
               back == d;
        if (!same)
            printf("day %d should be %s\n", (int)d, want);
    }
    CHECK(same);
    buf_free(&b);
}

static void prints_with_milliseconds_and_z(void)
{
    check_printed(0, "1970-01-01T00:00:00.000Z");
    check_printed(-1, "1969-12-31T23:59:59.999Z");
    check_printed(1763726400007, "2025-11-21T12:00:00.007Z");
    check_printed(at("2026-11-20T13:30:00.25+01:30"), "2026-11-20T12:00:00.250Z");
    check_printed(at("2028-02-29T23:59:59.999Z"), "2028-02-29T23:59:59.999Z");
    check_printed(at("9999-12-31T23:59:59.999Z"), "9999-12-31T23:59:59.999Z");
    check_printed(at("0000-01-01T00:00:00Z"), "0000-01-01T00:00:00.000Z");
}

static void reads_all_three_http_dates(void)
{
    static const char *const same[] = {
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Mon, 06 Nov 1994 08:49:37 GMT", /* a wrong weekday: the date counts */
    };
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        int64_t ms = 0;
        if (!CHECK(clock_parse_http_date(str_of(same[i]), &ms)) || !CHECK_EQ_INT(ms, 784111777000))
            printf("    for \"%s\"\n", same[i]);
    }
    int64_t ms = 0;
    CHECK(clock_parse_http_date(STR("Saturday, 21-Nov-26 00:00:00 GMT"), &ms));
    CHECK_EQ_INT(ms, at("2026-11-21T00:00:00Z"));
    CHECK(clock_parse_http_date(STR("Monday, 30-Dec-69 00:00:00 GMT"), &ms));
    CHECK_EQ_INT(ms, at("2069-12-30T00:00:00Z"));
    CHECK(clock_parse_http_date(STR("Thursday, 01-Jan-70 00:00:00 GMT"), &ms));
    CHECK_EQ_INT(ms, 0);
    CHECK(clock_parse_http_date(STR("Sat Nov 21 00:00:00 2026"), &ms));
    CHECK_EQ_INT(ms, at("2026-11-21T00:00:00Z"));
    CHECK(clock_parse_http_date(STR("Sat, 31 Dec 2016 23:59:60 GMT"), &ms));
    CHECK_EQ_INT(ms, at("2017-01-01T00:00:00Z"));
}

static void refuses_other_http_dates(void)
{
    static const char *const bad[] = {
        "",
        "120",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "sun, 06 nov 1994 08:49:37 gmt",
        "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Fri, 31 Dec 9999 23:59:60 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov  6 08:49:37 94",
        "1994-11-06T08:49:37Z",
        "Sunday",
        "Sun",
        "Sun,",
    };
    int64_t untouched = 42;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (!CHECK(!clock_parse_http_date(str_of(bad[i]), &untouched)))
            printf("    for \"%s\"\n", bad[i]);
    CHECK(!clock_parse_http_date(STR_NONE, &untouched));
    CHECK_EQ_INT(untouched, 42);
}

static void prints_http_dates(void)
{
    struct buf b = {0};
    clock_print_http_date(&b, 784111777999);
    CHECK_STR(b, "Sun, 06 Nov 1994 08:49:37 GMT");
    buf_clear(&b);
    clock_print_http_date(&b, -1);
    CHECK_STR(b, "Wed, 31 Dec 1969 23:59:59 GMT");
    buf_clear(&b);
    clock_print_http_date(&b, 0);
    CHECK_STR(b, "Thu, 01 Jan 1970 00:00:00 GMT");
    buf_free(&b);
}

int main(void)
{
    RUN(reads_rfc3339);
    RUN(a_leap_second_is_the_last_millisecond_of_its_day);
    RUN(cuts_to_the_millisecond);
    RUN(refuses_other_times);
    RUN(the_day_is_the_utc_date);
    RUN(reads_days_exactly);
    RUN(agrees_with_the_c_library);
    RUN(prints_with_milliseconds_and_z);
    RUN(reads_all_three_http_dates);
    RUN(refuses_other_http_dates);
    RUN(prints_http_dates);
    return check_done("clock");
}
