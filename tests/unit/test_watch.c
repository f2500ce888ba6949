/* Which clients report outcomes but no starts. */
#include "daemon/watch.h"

#include "check.h"

static void finds_clients_with_outcomes_and_no_starts(void)
{
    const struct report_row rows[] = {
        {.day = 1, .client_no = 1, .survey_outcomes = 3, .conversions = {3, 0}},
        {.day = 1, .client_no = 2, .conversions = {0, 5}}, /* offers need no start */
        {.day = 1, .client_no = 4, .survey_outcomes = 1},  /* disqualified: no conversion */
        {.day = 2, .client_no = 1, .survey_starts = 1},
        {.day = 2, .client_no = 3, .survey_outcomes = 1, .survey_starts = 2},
        {.day = 2, .client_no = 5, .survey_outcomes = 2, .conversions = {2, 0}},
    };
    CHECK_EQ_UINT(watch_find_startless(rows, 6, 0), 4);
    CHECK_EQ_UINT(watch_find_startless(rows, 6, 4), 5);
    CHECK_EQ_UINT(watch_find_startless(rows, 6, 5), 0);
    CHECK_EQ_UINT(watch_find_startless(NULL, 0, 0), 0);
}

int main(void)
{
    RUN(finds_clients_with_outcomes_and_no_starts);
    return check_done("watch");
}
