/* A map from numbers above 0 to small numbers, in one flat table: what the memtable and the
 * writer look things up by. Nothing is ever taken out but all at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap_slot {
    uint64_t key; /* 0: free */
    uint64_t value;
};

/* Zero-initialised is empty. */
struct idmap {
    struct idmap_slot *slots;
    size_t mask, count;
};

uint64_t *idmap_find(const struct idmap *map, uint64_t key); /* NULL: not there */
/* The value's place, 0 in a new one. Valid until the next idmap_put. */
uint64_t *idmap_put(struct idmap *map, uint64_t key, bool *ret_new);
void idmap_free(struct idmap *map);
void idmap_clear(struct idmap *map); /* keeps its room */
