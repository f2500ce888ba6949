/* Finds the events of a panelist in a segment or a bundle, for searches and erasures. The search is
 * by hash, so the caller compares the id in the event. Lanes erase a panelist from memory:
 * lane_erase (delivery/lane.h). */
#pragma once

#include "store/sqlite/accepted.h"
#include "store/sqlite/schema.h"

struct panelist_query {
    uint32_t set; /* run.h */
    uint64_t hash;
    struct range range; /* of ids */
    bool newest_first;
};

/* The first `most` ids of the range in the given order. ids: room for 2 * most. */
size_t panelist_ids(struct sql *q, const struct panelist_query *of, uint64_t *ids, size_t most);

/* Removes their records; the events stay. */
void panelist_forget(struct sql *q, const struct panelist_query *of);
