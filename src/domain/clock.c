/* Times as text and days, without the C library: its functions depend on time zones, locales and
 * leap seconds, which must not affect stored values. */
#include "domain/clock.h"

#include "base/arithmetic.h"

#define DAYS_PER_400_YEARS 146097

static const char month_names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char day_names[7][10] = {"Thursday", "Friday",  "Saturday", "Sunday",
                                      "Monday",   "Tuesday", "Wednesday"}; /* from day 0 on */

struct civil {
    int year, month, day; /* month and day count from 1 */
};

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_in_month(int year, int month)
{
    static const uint8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

/* Years begin in March here, so that the leap day is the last day and the days before a month
 * follow a linear formula: (153 m + 2) / 5. */
static int32_t days_of_civil(struct civil c)
{
    int64_t year = c.month > 2 ? c.year : c.year - 1;
    int64_t month = c.month > 2 ? c.month - 3 : c.month + 9;
    int64_t leap_days = floor_div(year, 4) - floor_div(year, 100) + floor_div(year, 400);
    return (int32_t)(year * 365 + leap_days + (153 * month + 2) / 5 + c.day - 1 - 719468);
}

static struct civil civil_of_days(int32_t days)
{
    int64_t d = (int64_t)days + 719468; /* days from 0000-03-01 */
    int64_t cycle = floor_div(d, DAYS_PER_400_YEARS);
    int64_t in_cycle = d - cycle * DAYS_PER_400_YEARS;
    int64_t year = (in_cycle - in_cycle / 1460 + in_cycle / 36524 - in_cycle / 146096) / 365;
    int64_t in_year = in_cycle - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * in_year + 2) / 153;
    struct civil c = {
        .year = (int)(cycle * 400 + year + (month >= 10)),
        .month = (int)(month < 10 ? month + 3 : month - 9),
        .day = (int)(in_year - (153 * month + 2) / 5 + 1),
    };
    return c;
}

/* A reader with a sticky failure, so that a grammar reads as a list. */
struct scan {
    const char *at, *end;
    bool good;
    bool is_leap_second; /* of the time that was scanned */
};

static struct scan scan_of(struct str s)
{
    return s.p ? (struct scan){s.p, s.p + s.n, true, false} : (struct scan){"", "", false, false};
}

static int scan_digits(struct scan *s, int n)
{
    int value = 0;
    for (; s->good && n > 0; n--) {
        if (s->at == s->end || *s->at < '0' || *s->at > '9') {
            s->good = false;
            return 0;
        }
        value = value * 10 + (*s->at++ - '0');
    }
    return value;
}

static bool scan_try(struct scan *s, char c)
{
    if (!s->good || s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static void scan_text(struct scan *s, const char *text)
{
    for (; s->good && *text; text++)
        s->good = scan_try(s, *text);
}

static struct civil scan_date(struct scan *s)
{
    struct civil c;
    c.year = scan_digits(s, 4);
    scan_text(s, "-");
    c.month = scan_digits(s, 2);
    scan_text(s, "-");
    c.day = scan_digits(s, 2);
    return c;
}

static bool civil_valid(struct civil c)
{
    return c.month >= 1 && c.month <= 12 && c.day >= 1 && c.day <= days_in_month(c.year, c.month);
}

/* hh:mm:ss in milliseconds. Counts a leap second as the first second of the next minute. */
static int64_t scan_time(struct scan *s)
{
    int hour = scan_digits(s, 2);
    scan_text(s, ":");
    int minute = scan_digits(s, 2);
    scan_text(s, ":");
    int second = scan_digits(s, 2);
    if (hour > 23 || minute > 59 || second > 60)
        s->good = false;
    s->is_leap_second = second == 60;
    return ((int64_t)hour * 3600 + minute * 60 + second) * 1000;
}

static int64_t scan_fraction_ms(struct scan *s)
{
    if (!scan_try(s, '.'))
        return 0;
    int64_t ms = 0;
    int weight = 100;
    const char *from = s->at;
    for (; s->at < s->end && char_is_digit(*s->at); s->at++) {
        ms += weight * (*s->at - '0');
        weight /= 10;
    }
    if (s->at == from)
        s->good = false;
    return ms;
}

static int64_t scan_offset_ms(struct scan *s)
{
    if (scan_try(s, 'Z') || scan_try(s, 'z'))
        return 0;
    int64_t sign = scan_try(s, '-') ? -1 : 1;
    if (sign > 0)
        scan_text(s, "+");
    int hour = scan_digits(s, 2);
    scan_text(s, ":");
    int minute = scan_digits(s, 2);
    if (hour > 23 || minute > 59)
        s->good = false;
    return sign * ((int64_t)hour * 60 + minute) * 60000;
}

bool clock_parse_rfc3339(struct str text, int64_t *ret_ms)
{
    struct scan s = scan_of(text);
    struct civil date = scan_date(&s);
    if (!scan_try(&s, 'T') && !scan_try(&s, 't'))
        return false;
    int64_t ms = scan_time(&s), fraction_ms = scan_fraction_ms(&s);
    ms -= scan_offset_ms(&s);
    if (!s.good || s.at != s.end || !civil_valid(date))
        return false;
    ms += days_of_civil(date) * DAY_MS;
    /* RFC 3339, section 5.7: a leap second ends a UTC day, and belongs to it */
    if (s.is_leap_second && ms % DAY_MS != 0)
        return false;
    ms += s.is_leap_second ? -1 : fraction_ms;
    /* an offset may move the time out of the four-digit years */
    int32_t day = clock_day(ms);
    if (day < CLOCK_FIRST_DAY || day > CLOCK_LAST_DAY)
        return false;
    *ret_ms = ms;
    return true;
}

bool clock_parse_day(struct str text, int32_t *ret_day)
{
    struct scan s = scan_of(text);
    struct civil date = scan_date(&s);
    if (!s.good || s.at != s.end || !civil_valid(date))
        return false;
    *ret_day = days_of_civil(date);
    return true;
}

int32_t clock_month(int32_t day)
{
    return day - civil_of_days(day).day + 1;
}

int32_t clock_day(int64_t ms)
{
    return (int32_t)floor_div(ms, DAY_MS);
}

static char *put_digits(char *to, int value, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        to[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return to + n;
}

static char *put_date(char *to, int32_t day)
{
    ASSERT(day >= CLOCK_FIRST_DAY && day <= CLOCK_LAST_DAY);
    struct civil c = civil_of_days(day);
    to = put_digits(to, c.year, 4);
    *to++ = '-';
    to = put_digits(to, c.month, 2);
    *to++ = '-';
    return put_digits(to, c.day, 2);
}

static char *put_time(char *to, int seconds)
{
    to = put_digits(to, seconds / 3600, 2);
    *to++ = ':';
    to = put_digits(to, seconds / 60 % 60, 2);
    *to++ = ':';
    return put_digits(to, seconds % 60, 2);
}

void clock_print_day(struct buf *to, int32_t day)
{
    char *from = buf_reserve(to, 10);
    to->n += (size_t)(put_date(from, day) - from);
}

void clock_print(struct buf *to, int64_t ms)
{
    int32_t day = clock_day(ms);
    int in_day = (int)(ms - day * DAY_MS);
    char *from = buf_reserve(to, 24), *at = put_date(from, day);
    *at++ = 'T';
    at = put_time(at, in_day / 1000);
    *at++ = '.';
    at = put_digits(at, in_day % 1000, 3);
    *at++ = 'Z';
    to->n += (size_t)(at - from);
}

static int scan_month(struct scan *s)
{
    for (int i = 0; s->good && i < 12 && s->end - s->at >= 3; i++) {
        if (memcmp(s->at, month_names[i], 3) == 0) {
            s->at += 3;
            return i + 1;
        }
    }
    s->good = false;
    return 0;
}

/* Any day's name is accepted, even if it does not fit the date. */
static bool scan_day_name(struct scan *s, bool whole)
{
    for (int i = 0; s->good && i < 7; i++) {
        size_t n = whole ? strlen(day_names[i]) : 3;
        if ((size_t)(s->end - s->at) >= n && memcmp(s->at, day_names[i], n) == 0) {
            s->at += n;
            return true;
        }
    }
    return false;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" or, with dashes, "Sunday, 06-Nov-94 08:49:37 GMT". */
static int64_t scan_gmt_date(struct scan *s, bool dashes, struct civil *ret_date)
{
    const char *between = dashes ? "-" : " ";
    scan_text(s, ", ");
    ret_date->day = scan_digits(s, 2);
    scan_text(s, between);
    ret_date->month = scan_month(s);
    scan_text(s, between);
    ret_date->year = scan_digits(s, dashes ? 2 : 4);
    /* without a clock the century is fixed; right for Retry-After until 2069 */
    if (dashes)
        ret_date->year += ret_date->year < 70 ? 2000 : 1900;
    scan_text(s, " ");
    int64_t ms = scan_time(s);
    scan_text(s, " GMT");
    return ms;
}

/* "Sun Nov  6 08:49:37 1994" */
static int64_t scan_asctime_date(struct scan *s, struct civil *ret_date)
{
    scan_text(s, " ");
    ret_date->month = scan_month(s);
    scan_text(s, " ");
    ret_date->day = scan_try(s, ' ') ? scan_digits(s, 1) : scan_digits(s, 2);
    scan_text(s, " ");
    int64_t ms = scan_time(s);
    scan_text(s, " ");
    ret_date->year = scan_digits(s, 4);
    return ms;
}

bool clock_parse_http_date(struct str text, int64_t *ret_ms)
{
    struct scan s = scan_of(text);
    struct civil date = {0};
    int64_t ms;
    if (scan_day_name(&s, true))
        ms = scan_gmt_date(&s, true, &date);
    else if (!scan_day_name(&s, false))
        return false;
    else if (s.at < s.end && *s.at == ',')
        ms = scan_gmt_date(&s, false, &date);
    else
        ms = scan_asctime_date(&s, &date);
    if (!s.good || s.at != s.end || !civil_valid(date))
        return false;
    ms += days_of_civil(date) * DAY_MS;
    if (clock_day(ms) > CLOCK_LAST_DAY) /* a leap second may exceed it */
        return false;
    *ret_ms = ms;
    return true;
}

void clock_print_http_date(struct buf *to, int64_t ms)
{
    int32_t day = clock_day(ms);
    struct civil c = civil_of_days(day);
    ASSERT(day >= CLOCK_FIRST_DAY && day <= CLOCK_LAST_DAY);
    int weekday = (int)(((int64_t)day % 7 + 7) % 7);
    char *from = buf_reserve(to, 29), *at = from;
    memcpy(at, day_names[weekday], 3);
    memcpy(at + 3, ", ", 2);
    at = put_digits(at + 5, c.day, 2);
    *at++ = ' ';
    memcpy(at, month_names[c.month - 1], 3);
    at[3] = ' ';
    at = put_digits(at + 4, c.year, 4);
    *at++ = ' ';
    at = put_time(at, (int)((ms - day * DAY_MS) / 1000));
    memcpy(at, " GMT", 4);
    to->n += (size_t)(at + 4 - from);
}
