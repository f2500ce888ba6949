/* Books that balance. Every store keeps a ledger as it goes, in the same commit as what it tells
 * of: per account, report day, app, lane and tests apart, what is owed in all and what of it stands
 * in each state, in three sums. store_check_books derives the same sums anew from the events
 * themselves and compares, a day at a time. What is in no ledger: events that owe no callback.
 *
 * A day holds when
 *   owed = pending + delivered + dead + skipped                  (in the ledger)
 *   each of these is what the day's events add up to             (ledger and events)
 *   RevenueAmount owed = Earnings                                (ledger and report counters)
 * for count, Reward and RevenueAmount; tests have a ledger of their own. A callback that is being
 * tried is pending, as everywhere in the store. */
#pragma once

#include "store/store.h"

/* Where "owed in all" stands among the sums by state: no callback owed is ever of state none. */
#define BOOK_OWED CALLBACK_NONE
#define BOOK_STATES (CALLBACK_SKIPPED + 1)

struct book_key {
    uint32_t account_no, app_no;
    int32_t day;
    enum lane_kind lane;
    bool is_test;
};

struct book {
    struct book_key key;
    struct statement_sums sums[BOOK_STATES];
};

/* Books by key, in the order in which they came. Zero-initialised is empty. */
struct books {
    struct book *items;
    size_t count, capacity;
    uint32_t *slots; /* index + 1; 0: free */
    size_t slot_count;
};

/* Made when there is none; valid until the next call. */
struct book *books_at(struct books *books, const struct book_key *key);
void books_clear(struct books *books); /* keeps room for a few */
void books_free(struct books *books);
void books_sort(struct books *books); /* by account, day, app, lane, tests; no look-ups after it */

struct book_key book_key_of(const struct event *e);

/* `count` callbacks (negative: taken out) with these sums of money. */
void book_add(struct statement_sums *sums, int64_t count, __int128 reward_micros,
              __int128 revenue_micros);
/* A callback of that event is owed, and stands in `state`. */
void books_owe(struct books *books, const struct event *e, enum callback_state state);
/* It has moved. Nothing when it has not. */
void books_move(struct books *books, const struct book_key *key, int64_t reward_micros,
                int64_t revenue_micros, enum callback_state from, enum callback_state to);

/* --- checking one day ---------------------------------------------------------------------------
 */

/* What a store brings together about one day of one account. */
struct books_day {
    uint32_t account_no;
    int32_t day;
    struct books ledger, events;
    struct books_client { /* which app's: learned from the events */
        uint32_t client_no, app_no;
        __int128 earnings_micros[2]; /* by the report counters: 0 live, 1 test */
    } * clients;
    size_t client_count, client_capacity;
};

void books_day_begin(struct books_day *d, uint32_t account_no, int32_t day);
/* An event as it is stored, with the state of its callback; those that owe none only tell whose
 * client it is. */
void books_day_event(struct books_day *d, const struct event *e, enum callback_state state);
void books_day_earnings(struct books_day *d, uint32_t client_no, __int128 live_micros,
                        __int128 test_micros);
/* Adds what does not agree to the check's differences, and counts the day. */
void books_day_end(struct books_day *d, struct books_check *check);
void books_day_free(struct books_day *d);

const char *books_rule_name(enum books_rule rule);
