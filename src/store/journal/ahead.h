/* Passes whole groups from the thread that reads and checks them to the thread that visits them, so
 * that reading and visiting overlap. */
#pragma once

#include "store/journal/journal.h"

struct ahead_group {
    char *frame; /* malloc'ed, aligned; NULL: no buffer */
    size_t capacity;
    struct journal_position end;
};

struct ahead;

struct ahead *ahead_new(void);
void ahead_free(struct ahead *a);

/* The reader's side. Passes the group on, waiting for room, and returns an empty buffer in its
 * place. False: the visitor has stopped. */
MUST_CHECK bool ahead_put(struct ahead *a, struct ahead_group *group);
void ahead_end(struct ahead *a); /* no further groups follow */

/* The visitor's side. Waits for the next group, valid until the next call. NULL: no more. */
const struct ahead_group *ahead_take(struct ahead *a);
void ahead_stop(struct ahead *a); /* the visitor takes no more */
