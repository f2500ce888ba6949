/* Times, days and HTTP dates from outside: whatever is read is in the printable years and reads
 * back as itself. */
#include "fuzz.h"

#include "domain/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct str text = {(const char *)data, data_bytes};
    struct buf printed = {0};
    int64_t ms = 0, back = 0;
    int32_t day = 0, day_back = 0;
    if (clock_parse_rfc3339(text, &ms)) {
        clock_print(&printed, ms);
        ASSERT(printed.n == 24);
        ASSERT(clock_parse_rfc3339(buf_str(&printed), &back) && back == ms);
    }
    buf_clear(&printed);
    if (clock_parse_day(text, &day)) {
        clock_print_day(&printed, day);
        ASSERT(printed.n == text.n && memcmp(printed.p, text.p, text.n) == 0);
        ASSERT(clock_day(day * DAY_MS) == day && clock_day(day * DAY_MS + DAY_MS - 1) == day);
        ASSERT(clock_parse_day(buf_str(&printed), &day_back) && day_back == day);
    }
    buf_clear(&printed);
    if (clock_parse_http_date(text, &ms)) {
        clock_print_http_date(&printed, ms);
        ASSERT(clock_parse_http_date(buf_str(&printed), &back) && back == ms);
    }
    buf_free(&printed);
    return 0;
}
