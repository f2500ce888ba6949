/* Counters of one report day by quarter of an hour, over all clients and without test events. A day
 * that is not over yet is compared by them. Kept for INTRADAY_DAYS days; an event accepted later
 * than that is in no slot. */
#pragma once

#include "base/executor.h"
#include "domain/event.h"
#include "store/status.h"

#define INTRADAY_SLOT_MS (15 * 60 * INT64_C(1000))
#define INTRADAY_SLOTS 96
#define INTRADAY_DAYS 2

struct intraday_slot {
    int64_t survey_starts, conversions;
    /* panelists of a client whose first start of the day is in this slot */
    int64_t active_panelists;
    __int128 earnings_micros;
};

static inline bool intraday_slot_is_empty(const struct intraday_slot *slot)
{
    return slot->survey_starts == 0 && slot->conversions == 0 && slot->active_panelists == 0 &&
           slot->earnings_micros == 0;
}

struct intraday_query {
    struct task done;
    struct executor *reply_to;
    uint32_t account_no;
    int32_t day;
    /* results */
    enum store_status status;
    /* false: the day's slots were dropped, or an event of it came too late for them */
    bool complete;
    struct intraday_slot slots[INTRADAY_SLOTS];
};

/* For implementations: the slot in which the event counts, or -1. */
int intraday_slot(const struct event *e);
