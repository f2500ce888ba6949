/* The books: a ledger that every store keeps, and its check against the events.
 *
 * For each account, report day, app, lane and live or test, the ledger has the total that is owed
 * and the part of it in each callback state. Each entry has three sums: the number of callbacks,
 * Reward and RevenueAmount. The store updates the ledger in the commit that changes a callback.
 * store_check_books computes the same sums again from the stored events and compares them, one day
 * at a time. Events without a callback are in no ledger.
 *
 * A day is right when, for each of the three sums,
 *   owed = pending + delivered + dead + skipped                  (in the ledger)
 *   each of these equals the sum over the day's events           (ledger and events)
 *   RevenueAmount owed = Earnings                                (ledger and report counters)
 *
 * Test events have a ledger of their own. A callback with an attempt under way is pending, as
 * everywhere in the store. */
#pragma once

#include "store/key_table.h"
#include "store/store.h"

/* The index of the total owed among the sums by state: no callback in the books has state none. */
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

/* A table of books by key, in the order of insertion. All zeros: empty. */
struct books {
    struct book *items;
    size_t count, capacity;
    struct key_table table;
};

/* Finds or adds the book of a key. Valid until the next call. */
struct book *books_at(struct books *books, const struct book_key *key);
void books_clear(struct books *books); /* empties it, keeps some memory for reuse */
void books_free(struct books *books);
/* by account, day, app, lane, test; afterwards there are no look-ups */
void books_sort(struct books *books);

struct book_key book_key_of(const struct event *e);

/* Adds `count` callbacks with these sums of money; a negative count removes them. */
void book_add(struct statement_sums *sums, int64_t count, __int128 reward_micros,
              __int128 revenue_micros);
/* Adds the event's callback to the total owed and to `state`. */
void books_owe(struct books *books, const struct event *e, enum callback_state state);
/* Moves a callback from one state to another. Does nothing if they are the same. */
void books_move(struct books *books, const struct book_key *key, int64_t reward_micros,
                int64_t revenue_micros, enum callback_state from, enum callback_state to);

/* --- checking one day ---------------------------------------------------------------------------
 */

/* What a store collects to check one day of one account. */
struct books_day {
    uint32_t account_no;
    int32_t day;
    struct books ledger, events;
    struct books_client { /* the client's app, as the events say */
        uint32_t client_no, app_no;
        __int128 earnings_micros[2]; /* earnings in the report counters: 0 live, 1 test */
    } * clients;
    size_t client_count, client_capacity;
};

void books_day_begin(struct books_day *d, uint32_t account_no, int32_t day);
/* Adds one stored event with the state of its callback. An event without a callback only says to
 * which app its client belongs. */
void books_day_event(struct books_day *d, const struct event *e, enum callback_state state);
void books_day_earnings(struct books_day *d, uint32_t client_no, __int128 live_micros,
                        __int128 test_micros);
/* Adds the day's differences to the check's result and counts the day. */
void books_day_end(struct books_day *d, struct books_check *check);
void books_day_free(struct books_day *d);

const char *books_rule_name(enum books_rule rule);
