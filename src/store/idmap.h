/* A hash map from numbers above 0 to small numbers, in one flat table. The memtable and the writer
 * look up events by it. Entries are never removed one by one; idmap_clear removes all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap_slot {
    uint64_t key; /* 0: free */
    uint64_t value;
};

/* All zeros: empty. */
struct idmap {
    struct idmap_slot *slots;
    size_t mask, count;
};

uint64_t *idmap_find(const struct idmap *map, uint64_t key); /* NULL: the key is absent */
/* Finds or adds a key and returns its value, which is 0 if it is new. Valid until the next
 * idmap_put. */
uint64_t *idmap_put(struct idmap *map, uint64_t key, bool *ret_new);
void idmap_free(struct idmap *map);
void idmap_clear(struct idmap *map); /* keeps the memory */
