/* The counters of one account, day and client from which reports are made. */
#pragma once

#include <stdint.h>

struct report_part {
    int64_t events, starts, outcomes, conversions[2]; /* 0 survey, 1 offer */
    __int128 earnings_micros[2];
};

struct report_sums {
    struct report_part live, test;
    int64_t active_live, active_any;
};
