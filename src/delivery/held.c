/* Entries of a hash_map; a lane that has none in hand keeps no table for them. */
#include "delivery/held.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"

#include <stdlib.h>

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
    if (held->count == 0)
        hash_map_free(held);
}

struct held_entry *held_after(const struct hash_map *held, const struct held_entry *e)
{
    return entry_of(hash_map_after(held, e ? &e->node : NULL));
}
