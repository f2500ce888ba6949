/* What a transaction changes in rows that are there, gathered and then sent as a few statements:
 * where callbacks stand, what waits, the ledger, the totals. */
#pragma once

#include "store/books.h"
#include "store/postgresql/row.h"

struct changed_row {
    uint32_t account_no;
    uint64_t event_no;
    int32_t period;
    struct standing standing;
};

struct changed_total {
    uint32_t account_no;
    int64_t pending, delivered, dead;
};

/* What a transaction adds to the store's numbers. */
struct pg_counts {
    int64_t accepted, pending, delivered, dead;
};

struct changes {
    struct pg_counts added; /* by all of the transaction */
    struct books books;     /* what is to be added to the ledger */
    struct changed_row *rows;
    size_t row_count, row_capacity;
    struct changed_total *totals;
    size_t total_count, total_capacity;
    struct pg_table dropped, waiting; /* rows of the table of the same name that go, and come */
    struct pg_table scratch;
};

void changes_begin(struct changes *ch); /* keeps memory, and what is counted in `added` */
void changes_free(struct changes *ch);

/* A new callback waits; its event is owed and in the ledger already. */
void changes_wait(struct changes *ch, const struct event *e, int32_t period,
                  const struct callback_status *s);
void changes_pending(struct changes *ch, uint32_t account_no, int64_t more);
/* A callback that has become final so goes into the totals, once whatever becomes of it later. */
void changes_count_final(struct changes *ch, uint32_t account_no, struct standing *now);
/* The row comes to stand like that. Once per row and transaction. */
void changes_row(struct changes *ch, const struct pg_row *row, const struct standing *now);
/* Puts the statements into the pipeline. */
void changes_send(struct changes *ch, struct pg *pg);
