/* The lane's in-flight table: the callbacks that the lane has taken and not finished, by event
 * number. It keeps the lane from starting a second attempt for a callback that a page shows
 * although the lane has it already.
 *
 * An entry lives until (1) the callback has left the lane's memory, (2) every outcome recorded for
 * it is durable, and (3) no page is under way that was asked for before (1) and (2): such a page
 * may still show the callback in its old state. */
#pragma once

#include "base/hash_map.h"
#include "store/callback.h"

enum held_place {
    HELD_QUEUED,    /* in one of the lane's queues */
    HELD_RETRY,     /* waits in memory for its due time */
    HELD_IN_FLIGHT, /* being tried */
    HELD_GONE,      /* has left memory; waits for (2) and (3) */
};

struct held_entry {
    struct hash_node node;     /* by hash_number of the event's number */
    struct callback *callback; /* NULL when HELD_GONE */
    uint16_t recording;        /* outcomes that are not durable yet */
    uint8_t place;             /* enum held_place */
    bool again;                /* handed over again meanwhile: page the store again */
};

struct held_entry *held_find(const struct hash_map *held, uint64_t event_no); /* NULL: none */
struct held_entry *held_add(struct hash_map *held, uint64_t event_no);        /* not in it yet */
void held_remove(struct hash_map *held, struct held_entry *e);
/* All, in no order: the next one; the first behind NULL; NULL behind the last. */
struct held_entry *held_after(const struct hash_map *held, const struct held_entry *e);
