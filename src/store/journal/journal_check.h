/* Reads a live journal again: every group of every segment that a restart may need must be whole
 * and follow the one before it. Nothing is changed. */
#pragma once

#include "store/journal/journal.h"

struct journal_check {
    struct journal *journal;
    /* Called after each read with its bytes; false: stop. */
    bool (*pause)(void *context, size_t bytes);
    /* Called at most once for each segment. */
    void (*on_damage)(void *context, const char *path, uint64_t offset, const char *why);
    /* Called when the process lacks something that a read needs (disk_is_passing), a descriptor for
     * example. Returns when the read may be repeated; false: stop. */
    bool (*wait)(void *context, int error);
    void *context;
};

/* May run beside the owner's commits and releases: a group that is being written or was released
 * meanwhile is not reported. False: stopped by `pause` or `wait`. */
MUST_CHECK bool journal_check(const struct journal_check *check);
