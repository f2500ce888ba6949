/* Which events of a segment are a panelist's: a search's, an erasure's. By hash, so the event's own
 * text decides. */
#pragma once

#include "store/sqlite/accepted.h"
#include "store/sqlite/schema.h"

struct panelist_query {
    uint32_t segment;
    uint64_t hash;
    struct range range; /* of ids */
    bool newest_first;
};

/* The first `most` of the range in the order asked for. ids: room for 2 * most. */
size_t panelist_ids(struct sql *q, const struct panelist_query *of, uint64_t *ids, size_t most);

/* Lets go of them; the events stay. */
void panelist_forget(struct sql *q, const struct panelist_query *of);
