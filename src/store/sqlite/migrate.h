/* Bringing the database of an older version up to date, step by step (schema.c). A step is one
 * transaction; one that looks at every event is as many as it has slices of them, so that it takes
 * little memory, can be stopped or killed at any moment, and goes on where it was. */
#pragma once

#include "store/books.h"
#include "store/sqlite/schema.h"
#include "store/store_open.h"

/* Events looked at in one transaction. */
#define MIGRATION_SLICE 65536

/* What the slices of a step gather. */
struct migration_slice {
    struct books books;
};

struct migration_step {
    const char *text;
    /* Of a step that looks at every event, in the order of ids: */
    const char *undo;    /* what `text` has made; nothing, when that is not there */
    const char *columns; /* of the event, behind its id */
    /* An event's row; NULL at the end of a slice: adds to the tables what has been gathered. */
    void (*fill)(struct sql *q, struct migration_slice *slice, sqlite3_stmt *row);
};

extern const struct migration_step migration_steps[SCHEMA_VERSION];

#define FILL_BOOK_COLUMNS "app_no,lane,is_test,state,occurred_ms,reward_micros,revenue_micros"
void fill_book(struct sql *q, struct migration_slice *slice, sqlite3_stmt *row);

/* Brings the database to SCHEMA_VERSION. False: it is from a newer version, it was stopped
 * (options->upgrade_goes_on) or SQLite failed; *ret_why is a sentence. What was under way is rolled
 * back when the connection is closed. */
MUST_CHECK bool migrate(struct sql *q, const struct sqlite_store_options *options, char **ret_why);
