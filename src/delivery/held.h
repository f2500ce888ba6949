/* What a lane has in hand, by event number: so that a page of due callbacks, read from the store
 * while others were being tried, never makes the lane try one twice.
 *
 * An entry lives from the moment the lane takes a callback until (1) the callback has left its
 * memory, (2) every outcome recorded for it is durable, and (3) no page is under way that was
 * asked for before that: such a page may still show the callback as it was. */
#pragma once

#include "base/hash_map.h"
#include "store/callback.h"

enum held_place {
    HELD_QUEUED,    /* in one of the lane's queues */
    HELD_RETRY,     /* waits in memory for its time */
    HELD_IN_FLIGHT, /* being tried */
    HELD_GONE,      /* out of memory; waits for (2) and (3) */
};

struct held_entry {
    struct hash_node node;     /* by hash_number of the event's number */
    struct callback *callback; /* NULL when HELD_GONE */
    uint16_t recording;        /* outcomes on their way into the store */
    uint8_t place;             /* enum held_place */
    bool again;                /* handed over anew meanwhile: look at the store again */
};

struct held_entry *held_find(const struct hash_map *held, uint64_t event_no); /* NULL: none */
struct held_entry *held_add(struct hash_map *held, uint64_t event_no);        /* not in it yet */
void held_remove(struct hash_map *held, struct held_entry *e);
/* All, in no order: the next one; the first behind NULL; NULL behind the last. */
struct held_entry *held_after(const struct hash_map *held, const struct held_entry *e);
