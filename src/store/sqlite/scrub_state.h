/* Keeps a scrub's position and findings (scrub.h) across restarts, in a file. */
#pragma once

#include "store/disk.h"
#include "store/numbers.h"

struct scrub_state {
    uint64_t journal_id; /* of the store that was checked: another store's state is ignored */
    bool is_clean;       /* the store was closed cleanly afterwards */
    int64_t began_ms;    /* start of the current or last pass; 0: none yet */
    int64_t ended_ms;    /* end of the last complete pass; 0: none yet */
    uint32_t next_page;  /* of the current pass; 0: none */
    int64_t found;       /* damaged places found by it so far, */
    int64_t found_last;  /* and by the last complete pass */
    char example[SCRUB_EXAMPLE_BYTES]; /* one of them, as a sentence; empty: none */
};

/* False, and *ret is empty: the file is missing, damaged or another store's. */
MUST_CHECK bool scrub_state_read(struct disk *disk, const char *path, uint64_t journal_id,
                                 struct scrub_state *ret);
/* 0 or -errno. */
MUST_CHECK int scrub_state_write(struct disk *disk, const char *directory, const char *path,
                                 const struct scrub_state *state);
