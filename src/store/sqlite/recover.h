/* Replaying journal groups into a database: at start, and into a backup's copy. */
#pragma once

#include "store/sqlite/apply.h"
#include "store/sqlite/view.h"

struct replay {
    struct view *view; /* nothing but `active` and its look-ups on the same database */
    struct apply *apply;
    size_t apply_events; /* a memtable is applied when it has that many */
    char **ret_why;      /* where a failure's sentence goes (malloc'ed) */
};

bool replay_group(void *replay, struct str records, struct journal_position end);
/* Applies what is left. */
MUST_CHECK bool replay_end(struct replay *replay);
