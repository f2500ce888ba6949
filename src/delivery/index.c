/* Separate chaining, doubled when there are as many nodes as buckets. */
#include "delivery/index.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

#define CAPACITY_FIRST 64

static void grow(struct index *index)
{
    size_t capacity = index->capacity ? index->capacity * 2 : CAPACITY_FIRST;
    struct index_node **buckets = xcalloc(capacity, sizeof(struct index_node *));
    for (size_t i = 0; i < index->capacity; i++) {
        struct index_node *node = index->buckets[i];
        while (node) {
            struct index_node *next = node->next;
            struct index_node **to = &buckets[node->hash & (capacity - 1)];
            node->next = *to;
            *to = node;
            node = next;
        }
    }
    free(index->buckets);
    index->buckets = buckets;
    index->capacity = capacity;
}

void index_add(struct index *index, struct index_node *node, uint64_t hash)
{
    if (index->count >= index->capacity)
        grow(index);
    struct index_node **to = &index->buckets[hash & (index->capacity - 1)];
    node->hash = hash;
    node->next = *to;
    *to = node;
    index->count++;
}

void index_remove(struct index *index, struct index_node *node)
{
    ASSERT(index->count > 0);
    struct index_node **at = &index->buckets[node->hash & (index->capacity - 1)];
    while (*at != node) {
        ASSERT(*at != NULL);
        at = &(*at)->next;
    }
    *at = node->next;
    index->count--;
}

static struct index_node *of_hash(struct index_node *node, uint64_t hash)
{
    while (node && node->hash != hash)
        node = node->next;
    return node;
}

struct index_node *index_first(const struct index *index, uint64_t hash)
{
    if (index->capacity == 0)
        return NULL;
    return of_hash(index->buckets[hash & (index->capacity - 1)], hash);
}

struct index_node *index_next(const struct index_node *node)
{
    return of_hash(node->next, node->hash);
}

void index_visit(struct index *index, void (*visit)(void *context, struct index_node *node),
                 void *context)
{
    for (size_t i = 0; i < index->capacity; i++) {
        struct index_node *node = index->buckets[i];
        while (node) {
            struct index_node *next = node->next;
            visit(context, node);
            node = next;
        }
    }
}

void index_free(struct index *index)
{
    free(index->buckets);
    *index = (struct index){0};
}
