/* Callbacks and rewards as CSV (RFC 4180): a line of column names, then one line each. URLs and
 * bodies are left out: they may contain passwords and Sig, and CSV files are easily passed on. */
#pragma once

#include "api/call.h"

/* The columns of the callback log, or of the rewards feed. */
enum csv_columns { CSV_CALLBACKS, CSV_REWARDS };

void callback_csv_begin(enum csv_columns columns, struct buf *to);
void callback_csv_row(struct call *c, enum csv_columns columns, struct buf *to,
                      const struct callback_row *row);
/* One field. Spreadsheets run a text that begins like a formula: it gets an apostrophe in front,
 * which marks it as text. */
void csv_text(struct buf *to, struct str text);
