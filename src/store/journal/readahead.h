/* Passes whole groups from the thread that reads and checks them to the thread that visits them, so
 * that reading and visiting overlap. */
#pragma once

#include "store/journal/journal.h"

struct readahead_group {
    char *frame; /* malloc'ed, aligned; NULL: no buffer */
    size_t capacity;
    struct journal_position end;
};

struct readahead;

struct readahead *readahead_new(void);
void readahead_free(struct readahead *a);

/* The reader's side. Passes the group on, waiting for room, and returns an empty buffer in its
 * place. False: the visitor has stopped. */
MUST_CHECK bool readahead_put(struct readahead *a, struct readahead_group *group);
void readahead_end(struct readahead *a); /* no further groups follow */

/* The visitor's side. Waits for the next group, valid until the next call. NULL: no more. */
const struct readahead_group *readahead_take(struct readahead *a);
void readahead_stop(struct readahead *a); /* the visitor takes no more */
