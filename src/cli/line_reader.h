/* Lines of files that people hand over: a file without line ends must not fill the memory. */
#pragma once

#include "base/buf.h"

#include <stdio.h>

/* The next line, without its "\n", into `line`, which is cleared first. line->n > bytes_most: it is
 * longer, and the rest of it is skipped. False: there is none; ferror(f) says whether the file
 * could not be read. */
MUST_CHECK bool line_read(FILE *f, struct buf *line, size_t bytes_most);
