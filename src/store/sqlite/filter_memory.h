/* The memory of filters that are only read: a file without a name beside the database, mapped. The
 * system keeps as much of it in memory as it has room for and drops the rest, so the memory that a
 * store needs does not grow with its events. The file is copied from the database at every start,
 * and it is gone with the process.
 *
 * Where no such file can be made, and when it cannot be written, ordinary memory is used. */
#pragma once

#include "base/check.h"
#include "base/str.h"

struct filter_memory {
    char *bytes; /* aligned for a filter; NULL: none */
    size_t size, used;
    int fd;         /* while the file is filled; otherwise -1 */
    bool is_mapped; /* from the file */
};

/* Begins memory of `size` bytes, more than 0, in the folder of the database. */
void filter_memory_begin(struct filter_memory *m, const char *database, size_t size);
/* Appends; false: there is no room left. */
MUST_CHECK bool filter_memory_add(struct filter_memory *m, struct str bytes);
/* `bytes` can be read from now on. */
void filter_memory_end(struct filter_memory *m);
/* Also memory that was not ended, or never begun. */
void filter_memory_free(struct filter_memory *m);
