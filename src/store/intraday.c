/* The quarter of an hour in which an event counts; see intraday.h. */
#include "store/intraday.h"

#include "domain/clock.h"

int intraday_slot(const struct event *e)
{
    int32_t day = clock_day(e->occurred_ms);
    if (e->is_test || clock_day(e->accepted_ms) - day > INTRADAY_DAYS)
        return -1;
    return (int)((e->occurred_ms - day * DAY_MS) / INTRADAY_SLOT_MS);
}
