/* Callbacks and rewards as CSV (RFC 4180): a line of column names, then one line each. URLs and
 * bodies are left out: they may contain passwords and Sig, and CSV files are easily passed on. */
#pragma once

#include "api/call.h"

/* What the lists of the log have, or what the feed of rewards has. */
enum csv_columns { CSV_CALLBACKS, CSV_REWARDS };

void callback_csv_begin(enum csv_columns columns, struct buf *to);
void callback_csv_row(struct call *c, enum csv_columns columns, struct buf *to,
                      const struct callback_row *row);
/* One field. Spreadsheets compute what begins like a formula: such a text gets an apostrophe in
 * front, which they take for "this is text". */
void csv_text(struct buf *to, struct str text);
