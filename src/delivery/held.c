/* Entries of a hash_map. A lane that had many in hand and has none any more keeps no table for it.
 */
#include "delivery/held.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"

#include <stdlib.h>

#define EMPTY_CAPACITY_MOST 64

static struct held_entry *entry_of(struct hash_node *node)
{
    return node ? CONTAINER_OF(node, struct held_entry, node) : NULL;
}

struct held_entry *held_find(const struct hash_map *held, uint64_t event_no)
{
    return entry_of(hash_map_first(held, hash_number(event_no)));
}

struct held_entry *held_add(struct hash_map *held, uint64_t event_no)
{
    ASSERT(held_find(held, event_no) == NULL);
    struct held_entry *e = xcalloc(1, sizeof *e);
    hash_map_add(held, &e->node, hash_number(event_no));
    return e;
}

void held_remove(struct hash_map *held, struct held_entry *e)
{
    hash_map_remove(held, &e->node);
    free(e);
    if (held->count == 0 && held->capacity > EMPTY_CAPACITY_MOST)
        hash_map_free(held);
}

struct held_entry *held_after(const struct hash_map *held, const struct held_entry *e)
{
    return entry_of(hash_map_after(held, e ? &e->node : NULL));
}
