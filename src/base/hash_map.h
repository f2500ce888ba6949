/* An intrusive hash table: an element holds its node, and the caller gives the hash and compares.
 * It grows and never shrinks. Where outsiders choose the keys the hash is hash_key128's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hash_node {
    uint64_t hash;
    struct hash_node *next;
};

/* Zero-initialised is empty. */
struct hash_map {
    struct hash_node **buckets;
    uint32_t capacity; /* a power of two */
    uint32_t count;
};

void hash_map_add(struct hash_map *map, struct hash_node *node, uint64_t hash);
void hash_map_remove(struct hash_map *map, struct hash_node *node); /* must be in it */
/* Nodes of that hash, one after the other; NULL: no further one. */
struct hash_node *hash_map_first(const struct hash_map *map, uint64_t hash);
struct hash_node *hash_map_next(const struct hash_node *node);
/* All nodes, in no order: the next one; the first behind NULL; NULL behind the last. */
struct hash_node *hash_map_after(const struct hash_map *map, const struct hash_node *node);
/* Calls visit with each node; visit may remove (and free) the node it is given. */
void hash_map_visit(struct hash_map *map, void (*visit)(void *context, struct hash_node *node),
                    void *context);
void hash_map_free(struct hash_map *map); /* the table, not the nodes */
