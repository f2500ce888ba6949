/* Whole groups on their way from the thread that reads and checks them to the one that visits
 * them: what one does the other need not wait for, and the disk is never idle for either. */
#pragma once

#include "store/journal/journal.h"

struct ahead_group {
    char *frame; /* malloc'ed, aligned; NULL: none */
    size_t capacity;
    struct journal_position end;
};

struct ahead;

struct ahead *ahead_new(void);
void ahead_free(struct ahead *a);

/* The reader's side. Hands the group on, waiting for room, and leaves a buffer that may be used
 * instead of its own. False: nobody visits any more. */
MUST_CHECK bool ahead_put(struct ahead *a, struct ahead_group *group);
void ahead_end(struct ahead *a); /* that was the last one */

/* The visitor's side. Waits for the next group; it is whole until the next call. NULL: no more. */
const struct ahead_group *ahead_take(struct ahead *a);
void ahead_stop(struct ahead *a); /* no more are wanted */
