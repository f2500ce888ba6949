/* Reads lines of people's files: a file without line ends must not fill the memory. */
#pragma once

#include "base/buf.h"

#include <stdio.h>

/* Reads the next line, without its "\n", into `line`, which is cleared first. line->n > bytes_most:
 * the line is longer, and the rest is skipped. False: there is none; ferror(f) tells whether
 * reading failed. */
MUST_CHECK bool line_read(FILE *f, struct buf *line, size_t bytes_most);
/* Without the byte order mark that spreadsheets and editors put before UTF-8. */
struct str text_without_mark(struct str text);
/* The text of a line; of the first line (number 1) without the byte order mark. */
struct str line_text(const struct buf *line, long number);
