/* Refuses what there is no room for on the disk. */
#pragma once

#include "store/queue.h"

#include <stdatomic.h>

struct sqlite_store;

struct admission {
    atomic_llong reserve_bytes; /* 0: depends on the disk's size */
    int64_t journal_most_bytes;
    atomic_llong next_look_mono_ms, free_bytes, reserve_now_bytes;
    atomic_bool disk_low;
    atomic_bool directory_away; /* see store_directory.h */
    /* when the writer last refused for lack of journal room; 0: never */
    atomic_llong journal_stuck_mono_ms;
};

/* Looks at the disk if the last look was long ago; may block. */
void admission_measure(struct sqlite_store *s);
/* Whether so many bytes may be written without need: the reserve is left. */
bool admission_has_room(struct sqlite_store *s, int64_t bytes);
/* store_ops.judge */
enum store_refusal admission_judge(struct store *store, const struct intake_batch *submitted);
/* While the store's directory is away, nothing new is acknowledged: it might be lost. Outcomes are
 * recorded where the files are now. */
bool admission_refuses_change(const struct sqlite_store *s, const struct request *r);
