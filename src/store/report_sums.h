/* The counters of one account, day and client from which reports are made. */
#pragma once

#include "domain/event.h"

struct report_part {
    int64_t events, starts, outcomes, conversions[2]; /* 0 survey, 1 offer */
    __int128 earnings_micros[2];
};

struct report_sums {
    struct report_part live, test;
    int64_t active_live, active_any;
};

/* What one event counts for. Not active_live and active_any: for these the caller has to know
 * whether it is the panelist's first start of the day. */
static inline void report_sums_add(struct report_sums *sums, const struct event *e)
{
    struct report_part *part = e->is_test ? &sums->test : &sums->live;
    int product = event_type_is_offer(e->type) ? 1 : 0;
    part->events++;
    part->starts += e->type == EVENT_SURVEY_STARTED;
    part->outcomes += event_is_survey_outcome(e->type);
    part->conversions[product] += event_is_conversion(e);
    part->earnings_micros[product] += e->revenue_micros;
}
