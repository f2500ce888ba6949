/* What a lane has in hand, by event number: so that a page of due callbacks, read from the store
 * while others were being tried, never makes the lane try one twice.
 *
 * An entry lives from the moment the lane takes a callback until (1) the callback has left its
 * memory, (2) every outcome recorded for it is durable, and (3) no page is under way that was
 * asked for before that: such a page may still show the callback as it was. */
#pragma once

#include "store/callback.h"

enum held_place {
    HELD_QUEUED,    /* in one of the lane's queues */
    HELD_RETRY,     /* waits in memory for its time */
    HELD_IN_FLIGHT, /* being tried */
    HELD_GONE,      /* out of memory; waits for (2) and (3) */
};

struct held_entry {
    uint64_t event_no;         /* 0: a free slot */
    struct callback *callback; /* NULL when HELD_GONE */
    uint16_t recording;        /* outcomes on their way into the store */
    uint8_t place;             /* enum held_place */
    bool again;                /* handed over anew meanwhile: look at the store again */
};

/* Zero-initialised is empty; empty costs no memory. */
struct held {
    struct held_entry *slots;
    uint32_t capacity; /* 0 or a power of two */
    uint32_t count;
};

struct held_entry *held_find(const struct held *held, uint64_t event_no); /* NULL: not in hand */
/* Must not be in it. Pointers to entries are valid until the next add or remove. */
struct held_entry *held_add(struct held *held, uint64_t event_no);
void held_remove(struct held *held, uint64_t event_no); /* must be in it */
void held_free(struct held *held);
