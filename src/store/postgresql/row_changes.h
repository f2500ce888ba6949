/* Collects what a transaction changes in existing rows, and sends it as a few statements: states of
 * callbacks, waiting callbacks, counts of attempts, books, totals. */
#pragma once

#include "store/books.h"
#include "store/delivery_stats.h"
#include "store/postgresql/pg_row.h"

struct changed_row {
    uint32_t account_no;
    uint64_t event_no;
    int32_t period;
    struct row_callback callback;
};

struct changed_total {
    uint32_t account_no;
    int64_t pending, delivered, dead;
};

/* Callbacks of a period became final late, the last ones on that day. */
struct changed_final_late {
    uint32_t account_no;
    int32_t period, final_day;
};

/* What a transaction adds to the store's counters. */
struct pg_counts {
    int64_t accepted, pending, delivered, dead;
};

struct changes {
    struct pg_counts added;           /* by the whole transaction */
    struct books books;               /* the sums to add to the books */
    struct delivery_stats_rows stats; /* the attempts to add to the counts */
    struct changed_row *rows;
    size_t row_count, row_capacity;
    struct changed_total *totals;
    size_t total_count, total_capacity;
    struct pg_table dropped, waiting; /* rows to delete from, and to add to, the table `waiting` */
    struct changed_final_late *final_late;
    size_t final_late_count, final_late_capacity;
    struct pg_table scratch;
};

void changes_begin(struct changes *ch); /* keeps its memory and `added` */
void changes_free(struct changes *ch);

/* A new callback waits. Its event is pending and in the books already.
 * presumed: its row presumes delivery. */
void changes_wait(struct changes *ch, const struct event *e, int32_t period,
                  const struct callback_life *s, bool presumed);
void changes_pending(struct changes *ch, uint32_t account_no, int64_t more);
/* Adds a callback that has become final to the totals, only the first time that it does. */
void changes_count_final(struct changes *ch, uint32_t account_no, struct row_callback *now);
/* Sets the row's state, unless it says so already. At most once for each row in a transaction. */
void changes_row(struct changes *ch, const struct pg_row *row, const struct row_callback *now);
/* A callback of the period became final late on that day (domain/retention.h). */
void changes_note_final_late(struct changes *ch, uint32_t account_no, int32_t period,
                             int32_t final_day);
/* Puts the statements into the pipeline. */
void changes_send(struct changes *ch, struct pg *pg);
