/* Reads again what a live journal holds: every group of every segment that a restart may need must
 * be whole and follow the one before it. Nothing is changed. */
#pragma once

#include "store/journal/journal.h"

struct journal_check {
    struct journal *journal;
    /* Called after each read with its bytes; false: stop. */
    bool (*pause)(void *context, size_t bytes);
    /* At most one for each segment. */
    void (*on_damage)(void *context, const char *path, uint64_t offset, const char *why);
    void *context;
};

/* Beside the owner's commits and releases: what is being written, and what was released meanwhile,
 * is no damage. False: stopped. */
MUST_CHECK bool journal_check(const struct journal_check *check);
