/* Separate chaining, doubled when there are as many nodes as buckets. */
#include "delivery/lookup.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

#define CAPACITY_FIRST 64

static void grow(struct lookup *lookup)
{
    size_t capacity = lookup->capacity ? lookup->capacity * 2 : CAPACITY_FIRST;
    struct lookup_node **buckets = xcalloc(capacity, sizeof(struct lookup_node *));
    for (size_t i = 0; i < lookup->capacity; i++) {
        struct lookup_node *node = lookup->buckets[i];
        while (node) {
            struct lookup_node *next = node->next;
            struct lookup_node **to = &buckets[node->hash & (capacity - 1)];
            node->next = *to;
            *to = node;
            node = next;
        }
    }
    free(lookup->buckets);
    lookup->buckets = buckets;
    lookup->capacity = capacity;
}

void lookup_add(struct lookup *lookup, struct lookup_node *node, uint64_t hash)
{
    if (lookup->count >= lookup->capacity)
        grow(lookup);
    struct lookup_node **to = &lookup->buckets[hash & (lookup->capacity - 1)];
    node->hash = hash;
    node->next = *to;
    *to = node;
    lookup->count++;
}

void lookup_remove(struct lookup *lookup, struct lookup_node *node)
{
    ASSERT(lookup->count > 0);
    struct lookup_node **at = &lookup->buckets[node->hash & (lookup->capacity - 1)];
    while (*at != node) {
        ASSERT(*at != NULL);
        at = &(*at)->next;
    }
    *at = node->next;
    lookup->count--;
}

static struct lookup_node *of_hash(struct lookup_node *node, uint64_t hash)
{
    while (node && node->hash != hash)
        node = node->next;
    return node;
}

struct lookup_node *lookup_first(const struct lookup *lookup, uint64_t hash)
{
    if (lookup->capacity == 0)
        return NULL;
    return of_hash(lookup->buckets[hash & (lookup->capacity - 1)], hash);
}

struct lookup_node *lookup_next(const struct lookup_node *node)
{
    return of_hash(node->next, node->hash);
}

void lookup_visit(struct lookup *lookup, void (*visit)(void *context, struct lookup_node *node),
                  void *context)
{
    for (size_t i = 0; i < lookup->capacity; i++) {
        struct lookup_node *node = lookup->buckets[i];
        while (node) {
            struct lookup_node *next = node->next;
            visit(context, node);
            node = next;
        }
    }
}

void lookup_free(struct lookup *lookup)
{
    free(lookup->buckets);
    *lookup = (struct lookup){0};
}
