/* Separate chaining, doubled when there are as many nodes as buckets. */
#include "base/hash_map.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

#define CAPACITY_FIRST 64

static void grow(struct hash_map *map)
{
    uint32_t capacity = map->capacity ? map->capacity * 2 : CAPACITY_FIRST;
    ASSERT(capacity > map->capacity);
    struct hash_node **buckets = xcalloc(capacity, sizeof(struct hash_node *));
    for (size_t i = 0; i < map->capacity; i++) {
        struct hash_node *node = map->buckets[i];
        while (node) {
            struct hash_node *next = node->next;
            struct hash_node **to = &buckets[node->hash & (capacity - 1)];
            node->next = *to;
            *to = node;
            node = next;
        }
    }
    free(map->buckets);
    map->buckets = buckets;
    map->capacity = capacity;
}

void hash_map_add(struct hash_map *map, struct hash_node *node, uint64_t hash)
{
    if (map->count >= map->capacity)
        grow(map);
    struct hash_node **to = &map->buckets[hash & (map->capacity - 1)];
    node->hash = hash;
    node->next = *to;
    *to = node;
    map->count++;
}

void hash_map_remove(struct hash_map *map, struct hash_node *node)
{
    ASSERT(map->count > 0);
    struct hash_node **at = &map->buckets[node->hash & (map->capacity - 1)];
    while (*at != node) {
        ASSERT(*at != NULL);
        at = &(*at)->next;
    }
    *at = node->next;
    map->count--;
}

static struct hash_node *of_hash(struct hash_node *node, uint64_t hash)
{
    while (node && node->hash != hash)
        node = node->next;
    return node;
}

struct hash_node *hash_map_first(const struct hash_map *map, uint64_t hash)
{
    if (map->capacity == 0)
        return NULL;
    return of_hash(map->buckets[hash & (map->capacity - 1)], hash);
}

struct hash_node *hash_map_next(const struct hash_node *node)
{
    return of_hash(node->next, node->hash);
}

struct hash_node *hash_map_after(const struct hash_map *map, const struct hash_node *node)
{
    if (node && node->next)
        return node->next;
    size_t bucket = node ? (node->hash & (map->capacity - 1)) + 1 : 0;
    while (bucket < map->capacity && !map->buckets[bucket])
        bucket++;
    return bucket < map->capacity ? map->buckets[bucket] : NULL;
}

void hash_map_visit(struct hash_map *map, void (*visit)(void *context, struct hash_node *node),
                    void *context)
{
    for (size_t i = 0; i < map->capacity; i++) {
        struct hash_node *node = map->buckets[i];
        while (node) {
            struct hash_node *next = node->next;
            visit(context, node);
            node = next;
        }
    }
}

void hash_map_free(struct hash_map *map)
{
    free(map->buckets);
    *map = (struct hash_map){0};
}
