/* Opaque positions in lists: the `after` of a request and the `Next` of its answer. The parameter
 * is read in api/query.c. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* An event number, bound to its account: the cursor of one account is invalid in another. */
void cursor_print(struct buf *to, uint32_t account_no, uint64_t event_no);
MUST_CHECK bool cursor_parse(struct str text, uint32_t account_no, uint64_t *ret_event_no);

/* In the rewards feed and in the list of callbacks: the position after that event. The time tells
 * whether the store still has the event under its number (callback_list.after_accepted_ms). */
struct feed_place {
    uint64_t event_no;
    int64_t accepted_ms; /* 0: unknown, from a cursor of cursor_print */
};

/* Bound to its account, too. Also parses cursors of cursor_print. */
void feed_cursor_print(struct buf *to, uint32_t account_no, const struct feed_place *place);
MUST_CHECK bool feed_cursor_parse(struct str text, uint32_t account_no, struct feed_place *ret);

/* In the feed of a range of days, which are listed one after the other: the position after that
 * event of the day. Bound to its account, too. */
struct day_place {
    int32_t day;
    struct feed_place in_day; /* event_no 0: at the start of the day */
};

void day_cursor_print(struct buf *to, uint32_t account_no, const struct day_place *place);
MUST_CHECK bool day_cursor_parse(struct str text, uint32_t account_no, struct day_place *ret);

/* A row's position in the log of all partners, ordered by time of acceptance, then account, then
 * event number. Greater is newer. */
struct log_place {
    int64_t accepted_ms;
    uint32_t account_no;
    uint64_t event_no;
};

/* Below zero: a is older. */
int log_place_compare(const struct log_place *a, const struct log_place *b);

/* A position in the log of all partners, which is read for one group of partners at a time. */
struct log_cursor {
    uint32_t before_no;     /* the group has accounts below it; 0: the newest ones */
    struct log_place place; /* rows are older than it */
};

void log_cursor_print(struct buf *to, const struct log_cursor *cursor);
MUST_CHECK bool log_cursor_parse(struct str text, struct log_cursor *ret);
