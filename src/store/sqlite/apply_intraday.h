/* The intraday slots: a quarter of an hour of an account's day each. */
#pragma once

#include "store/intraday.h"
#include "store/sqlite/sql.h"

struct apply;

struct apply_intraday { /* sums to add to the slots of one account's day */
    sqlite3_stmt *add;
    int32_t day;
    uint32_t account_no; /* 0: none */
    struct intraday_slot slots[INTRADAY_SLOTS];
    int64_t whole_from_day; /* events of the days before were left out; 0: of none */
};

/* Adds to the slots of one open day; opening another day or ending writes them. At last, the days
 * of which events were left out are noted. */
void apply_intraday_open(struct apply *a, uint32_t account_no, int32_t day);
void apply_intraday_event(struct apply *a, const struct event *e);
void apply_intraday_active(struct apply *a, int slot, int64_t count);
void apply_intraday_end(struct apply *a);
void apply_intraday_left_out(struct apply *a);
