/* The lane's in-flight table: the callbacks that the lane has taken and not finished, by event
 * number. It keeps the lane from starting a second attempt for a callback that a page shows
 * although the lane has it already.
 *
 * An entry lives until (1) the callback has left the lane's memory, (2) every outcome recorded for
 * it is durable, and (3) no page is under way that was asked for before (1) and (2): such a page
 * may still show the callback in its old state.
 *
 * The table decides nothing. What becomes of an attempt when its lane's lease ends:
 * delivery/dispatcher_attempt.c. */
#pragma once

#include "base/hash_map.h"
#include "store/callback.h"

enum inflight_place {
    INFLIGHT_QUEUED,  /* in one of the lane's queues */
    INFLIGHT_RETRY,   /* waits in memory for its due time */
    INFLIGHT_ATTEMPT, /* being tried */
    INFLIGHT_GONE,    /* has left memory; waits for (2) and (3) */
};

struct inflight_entry {
    struct hash_node node;     /* by hash_number of the event's number */
    struct callback *callback; /* NULL when INFLIGHT_GONE */
    uint16_t recording;        /* outcomes that are not durable yet */
    uint8_t place;             /* enum inflight_place */
    bool again;                /* handed over again meanwhile: page the store again */
};

struct inflight_entry *inflight_find(const struct hash_map *inflight,
                                     uint64_t event_no); /* NULL: none */
struct inflight_entry *inflight_add(struct hash_map *inflight,
                                    uint64_t event_no); /* not in it yet */
void inflight_remove(struct hash_map *inflight, struct inflight_entry *e);
/* All, in no order: the next one; the first behind NULL; NULL behind the last. */
struct inflight_entry *inflight_after(const struct hash_map *inflight,
                                      const struct inflight_entry *e);
