/* An intrusive hash table that grows and never shrinks below its smallest size: finds lanes,
 * destinations and health records. The caller gives the hash and compares. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct lookup_node {
    uint64_t hash;
    struct lookup_node *next;
};

/* Zero-initialised is empty. */
struct lookup {
    struct lookup_node **buckets;
    size_t capacity; /* a power of two */
    size_t count;
};

void lookup_add(struct lookup *lookup, struct lookup_node *node, uint64_t hash);
void lookup_remove(struct lookup *lookup, struct lookup_node *node); /* must be in it */
/* Nodes of that hash, one after the other; NULL: no further one. */
struct lookup_node *lookup_first(const struct lookup *lookup, uint64_t hash);
struct lookup_node *lookup_next(const struct lookup_node *node);
/* Calls visit with each node; visit may remove (and free) the node it is given. */
void lookup_visit(struct lookup *lookup, void (*visit)(void *context, struct lookup_node *node),
                  void *context);
void lookup_free(struct lookup *lookup); /* the table, not the nodes */
