/* What the scrub remembers over a restart, in a small file of the store's directory. */
#pragma once

#include "store/disk.h"
#include "store/numbers.h"

struct scrub_state {
    uint64_t journal_id; /* of the store that was checked: another one's is not believed */
    bool is_clean;       /* the store was closed in order behind it */
    int64_t began_ms;    /* the pass that is under way or the last one; 0: none yet */
    int64_t ended_ms;    /* the last whole pass; 0: none yet */
    uint32_t next_page;  /* of the pass under way; 0: none is */
    int64_t found;       /* places that it has found damaged so far, */
    int64_t found_last;  /* and the last whole pass */
    char example[SCRUB_EXAMPLE_BYTES]; /* one of them, as a sentence; empty: none */
};

/* False, and *ret is empty: there is none, or it is not whole, or another store's. */
MUST_CHECK bool scrub_state_read(struct disk *disk, const char *path, uint64_t journal_id,
                                 struct scrub_state *ret);
/* 0 or -errno. */
MUST_CHECK int scrub_state_write(struct disk *disk, const char *directory, const char *path,
                                 const struct scrub_state *state);
