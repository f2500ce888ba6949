/* The in-flight table is a hash_map, which uses no memory while the lane has no callback in hand.
 * What becomes of an attempt when its lane's lease ends: delivery/dispatcher_attempt.c. */
#include "delivery/inflight.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"

#include <stdlib.h>

static struct inflight_entry *entry_of(struct hash_node *node)
{
    return node ? CONTAINER_OF(node, struct inflight_entry, node) : NULL;
}

struct inflight_entry *inflight_find(const struct hash_map *inflight, uint64_t event_no)
{
    return entry_of(hash_map_first(inflight, hash_number(event_no)));
}

struct inflight_entry *inflight_add(struct hash_map *inflight, uint64_t event_no)
{
    ASSERT(inflight_find(inflight, event_no) == NULL);
    struct inflight_entry *e = xcalloc(1, sizeof *e);
    hash_map_add(inflight, &e->node, hash_number(event_no));
    return e;
}

void inflight_remove(struct hash_map *inflight, struct inflight_entry *e)
{
    hash_map_remove(inflight, &e->node);
    free(e);
    if (inflight->count == 0)
        hash_map_free(inflight);
}

struct inflight_entry *inflight_after(const struct hash_map *inflight,
                                      const struct inflight_entry *e)
{
    return entry_of(hash_map_after(inflight, e ? &e->node : NULL));
}
