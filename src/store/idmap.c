/* A hash table with open addressing, at most half full. The hash is a multiplication that spreads
 * dense ids but keeps neighbours together: events of one account are added and looked up about in
 * order, so that their slots are in the cache. */
#include "store/idmap.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 1024u
#define NEIGHBOURS_BITS 3

static size_t slot_of(const struct idmap *map, uint64_t key)
{
    uint64_t h = (key >> NEIGHBOURS_BITS) * 0x9e3779b97f4a7c15u;
    uint64_t low = key & ((1u << NEIGHBOURS_BITS) - 1);
    return (size_t)((h ^ h >> 32) << NEIGHBOURS_BITS | low) & map->mask;
}

static struct idmap_slot *find_slot(const struct idmap *map, uint64_t key)
{
    size_t i = slot_of(map, key);
    while (map->slots[i].key != 0 && map->slots[i].key != key)
        i = (i + 1) & map->mask;
    return &map->slots[i];
}

uint64_t *idmap_find(const struct idmap *map, uint64_t key)
{
    ASSERT(key != 0);
    if (map->count == 0)
        return NULL;
    struct idmap_slot *slot = find_slot(map, key);
    return slot->key == key ? &slot->value : NULL;
}

static void grow(struct idmap *map)
{
    struct idmap old = *map;
    size_t slots = old.slots ? (old.mask + 1) * 2 : FIRST_SLOTS;
    map->slots = xcalloc(slots, sizeof *map->slots);
    alloc_prefer_large_pages(map->slots, slots * sizeof *map->slots);
    map->mask = slots - 1;
    for (size_t i = 0; old.slots && i <= old.mask; i++) {
        if (old.slots[i].key != 0)
            *find_slot(map, old.slots[i].key) = old.slots[i];
    }
    free(old.slots);
}

uint64_t *idmap_put(struct idmap *map, uint64_t key, bool *ret_new)
{
    ASSERT(key != 0);
    if (!map->slots || map->count * 2 > map->mask)
        grow(map);
    struct idmap_slot *slot = find_slot(map, key);
    *ret_new = slot->key == 0;
    if (*ret_new) {
        slot->key = key;
        slot->value = 0;
        map->count++;
    }
    return &slot->value;
}

void idmap_clear(struct idmap *map)
{
    if (map->count > 0)
        memset(map->slots, 0, (map->mask + 1) * sizeof *map->slots);
    map->count = 0;
}

void idmap_free(struct idmap *map)
{
    free(map->slots);
    *map = (struct idmap){0};
}
